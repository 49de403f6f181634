# SPDX-License-Identifier: Apache-2.0
# formats_js.awk RECORD... - the image formats for the page, as the module formats.js: the lines of each record in
# pipeline/codecs/ that JavaScript can read, too. tests/http/test_page.py compares the module with /openapi.json.
BEGIN { print "// The image formats, from their records in pipeline/codecs/.\nconst formats = [" }
/^const struct format_record / { inside = 1; print "    {" }
/^};/ { if (inside) print "    },"; inside = 0 }
inside && /^    \.(media_types|endings|places) = / {
    while (!/},$/ && (getline following) > 0) $0 = $0 following
    gsub(/\[FORMATS_[A-Z]+\] =/, "&:"); gsub(/\[FORMATS_|\] =:/, ""); gsub(/DESCRIBED/, "described:"); gsub(/OFFERED/, "offered:")
    gsub(/PREFERRED/, "preferred:"); gsub(/" *, +"/, "\", \"")
    if (!/places/) { sub(/{/, "["); sub(/}/, "]") }
}
inside && /^    \.abilities = / {
    gsub(/FORMAT_/, "\""); gsub(/ \| /, "\", "); sub(/ = /, ": ["); sub(/,$/, "\"],"); sub(/\./, "    "); $0 = tolower($0); print
}
inside && /^    \.(name|title|media_types|endings|places) = / { sub(/\./, "    "); sub(/ = /, ": "); print }
inside && /^    \.(decode|encode) = / { print /decode/ ? "        read: true," : "        written: true," }
END {
    print "];\n"
    print "const sorted = (list, order) => list.sort((a, b) => (a.places?.[order] || 256) - (b.places?.[order] || 256));"
    print "export const readFormats = sorted(formats.filter((format) => format.read), 'described');"
    print "export const writtenFormats = sorted(formats.filter((format) => format.written), 'offered');"
}
