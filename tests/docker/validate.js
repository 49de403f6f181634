// SPDX-License-Identifier: Apache-2.0
// validate.js MODULES - reads Kubernetes objects as a JSON list and checks each in two ways: against the schema of its
// kind (types, formats, what must be there), and as a literal of its TypeScript interface, which knows no other fields,
// so that a misspelt one is found. From the npm packages kubernetes-models, @kubernetes-models/prometheus-operator and
// typescript in MODULES/node_modules. Prints what is wrong; exit status 1 where anything is.
"use strict";
const fs = require("fs");
const path = require("path");
const { createRequire } = require("module");
const { pathToFileURL } = require("url");

const modules = path.resolve(process.argv[2], "node_modules");
const objects = JSON.parse(fs.readFileSync(0));
const folders = { "monitoring.coreos.com/v1": "@kubernetes-models/prometheus-operator" };
let bad = 0;

const complain = (text) => { bad++; console.log(text); };
const folderOf = (object) => path.join(modules, folders[object.apiVersion] || "kubernetes-models", object.apiVersion);

async function checkSchema(object) {
    const name = `${object.kind} ${object.metadata && object.metadata.name}`;
    const file = path.join(folderOf(object), `${object.kind}.js`);
    if (!fs.existsSync(file)) return complain(`${name}: there is no ${object.kind} in ${object.apiVersion}`);
    try {
        new (await import(pathToFileURL(file)))[object.kind](object).validate();
    } catch (error) {
        complain(`${name}: ${error.message}`);
    }
}

function checkFields() {
    const ts = createRequire(`${modules}/index.js`)("typescript");
    const file = path.join(modules, "..", "objects.ts");
    const known = objects.filter((object) => fs.existsSync(path.join(folderOf(object), `${object.kind}.d.ts`)));
    fs.writeFileSync(file, known.map((object, i) =>
        `import type { I${object.kind} as T${i} } from ${JSON.stringify(path.join(folderOf(object), object.kind))};\n` +
        `export const o${i}: T${i} = ${JSON.stringify(object, null, 1)};\n`).join(""));
    const program = ts.createProgram([file], {
        noEmit: true, strict: true, types: [], skipLibCheck: true,
        target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler,
    });
    for (const found of ts.getPreEmitDiagnostics(program)) complain(ts.flattenDiagnosticMessageText(found.messageText, "\n"));
}

(async () => {
    for (const object of objects) await checkSchema(object);
    checkFields();
    console.log(`${objects.length} objects, ${bad} faults`);
    process.exit(bad ? 1 : 0);
})();
