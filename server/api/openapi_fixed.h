// SPDX-License-Identifier: Apache-2.0
/* openapi_fixed.h - the parts of the OpenAPI description that do not depend on operators.
 *
 * JSON with ' in place of ", which is easier to read in C. A word between ~ stands for a list of
 * image formats, which openapi_json.c makes of their records.
 *
 * Used by:  openapi_json.c.
 */
#ifndef BURIN_OPENAPI_FIXED_H
#define BURIN_OPENAPI_FIXED_H

// clang-format off

/* Example pictures as text: 8x8 gray pixels of 8 and of 16 bits. */
#define OPENAPI_PICTURE    "P5 8 8 255\\n" OPENAPI_PIXELS
#define OPENAPI_PICTURE_16 "P5 8 8 65535\\n" OPENAPI_PIXELS OPENAPI_PIXELS
#define OPENAPI_PIXELS     "0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnop"

/* Types that a result may have. */
#define OPENAPI_TYPES "~types~"

/* The patterns of a colour, which may have a name, and of a percentage. */
#define OPENAPI_COLOUR  "^(#?([0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})|[A-Za-z]{3,20})$"
#define OPENAPI_PERCENT "^-?[0-9]+([.][0-9]{1,3})?%$"

/* For every operator without a parameter of that name. */
#define OPENAPI_BACKGROUND "{'$ref':'#/components/parameters/background'}"

/* Parameters of every request with an image, beside background, type and compression. */
#define OPENAPI_SHARED_PARAMETERS                                                                  \
    "{'$ref':'#/components/parameters/device'},{'$ref':'#/components/parameters/quality'},"        \
    "{'$ref':'#/components/parameters/progressive'},{'$ref':'#/components/parameters/max_bytes'}," \
    "{'$ref':'#/components/parameters/min_quality'},{'$ref':'#/components/parameters/lossless'},"  \
    "{'$ref':'#/components/parameters/effort'},{'$ref':'#/components/parameters/metadata'},"       \
    "{'$ref':'#/components/parameters/profile'},{'$ref':'#/components/parameters/types'},"         \
    "{'$ref':'#/components/parameters/palette'},{'$ref':'#/components/parameters/colors'},"        \
    "{'$ref':'#/components/parameters/dither'},"                                                   \
    "{'$ref':'#/components/parameters/animation'},"                                                \
    "{'$ref':'#/components/parameters/damaged'},{'$ref':'#/components/parameters/id'}"

#define OPENAPI_TYPE        "{'$ref':'#/components/parameters/type'}"
#define OPENAPI_NEEDED_TYPE "{'$ref':'#/components/parameters/needed-type'}"

/* The second is for operators that share their name with an operation of imaginary. */
#define OPENAPI_COMPRESSION   "{'$ref':'#/components/parameters/compression'}"
#define OPENAPI_COMPRESSION_9 "{'$ref':'#/components/parameters/compression-9'}"

/* Parameters that most operations of imaginary need. */
#define OPENAPI_SIDES                                                                              \
    "{'$ref':'#/components/parameters/width'},{'$ref':'#/components/parameters/height'}"

#define OPENAPI_RAW_BODIES(picture)                                                                \
    "~input media types~,"                                                                         \
    "'image/x-portable-anymap':{'schema':{'type':'string'},'example':'" picture "'}"

#define OPENAPI_IMAGE_PART                                                                         \
    "'image':{'description':'~inputs~; the part may be called file or media too',"                 \
    "'type':'string','contentMediaType':'application/octet-stream'}"

/* The end of the description of a part `overlay`. */
#define OPENAPI_NAMED                                                                              \
    "; or, without a file name, the name of a file of overlays_dir, which may stand in the query " \
    "instead: then the body may be the image alone"

static const char openapi_info[] =
    "'openapi':'3.1.0','servers':[{'url':'/'}],"
    "'security':[{},{'token':[]},{'signature':[]}],'tags':["
    "{'name':'operators','description':'An image in, an image or numbers out'},"
    "{'name':'imaginary','description':'Operations as clients of imaginary call them, with its "
    "supported parameters; under /imaginary all names have their meaning in imaginary'},"
    "{'name':'service','description':'The service itself: what it offers, and its state'}]";

static const char openapi_description[] =
    "POST an image to an operator, as a form part or as the body itself; PUT does the same. "
    "Parameters may also be form fields. Accept: application/json asks for the timing report "
    "alone, multipart/mixed for image and report.";

static const char openapi_parameters[] =
    "'width':{'name':'width','in':'query','required':true,'description':'Of the result','schema':{"
    "'type':'integer','minimum':1,'maximum':65535},'example':6},"
    "'height':{'name':'height','in':'query','required':true,'description':'Of the result',"
    "'schema':{'type':'integer','minimum':1,'maximum':65535},'example':4},"
    "'needed-type':{'name':'type','in':'query','required':true,'description':'Type of the answer',"
    "'schema':{'type':'string','enum':['auto'," OPENAPI_TYPES "]},'example':'png'},"
    "'compression-9':{'name':'compression','in':'query','description':'Of a ~compression~: 0 "
    "stores, 1 is the fastest, 3 the slowest and the smallest; what imaginary calls 4 to 6 is 2 "
    "here, and 7 to 9 is 3','schema':{'type':'integer','minimum':0,'maximum':9,'default':1},"
    "'example':6},"
    "'device':{'name':'device','in':'query','description':'The device to use','schema':{"
    "'type':'string','pattern':'^(auto|cpu|cuda|cuda:[0-9]{1,2})$','default':'auto'},"
    "'example':'cpu'},"
    "'type':{'name':'type','in':'query','description':'Type of the answer; auto follows Accept, "
    "then the input','schema':{'type':'string','enum':['auto'," OPENAPI_TYPES "],"
    "'default':'auto'},'example':'png'},"
    "'types':{'name':'types','in':'query','description':'In place of type: the result in each of "
    "these','style':'form','explode':false,'schema':{'type':'array','items':{'type':'string',"
    "'enum':[" OPENAPI_TYPES "]},'minItems':1,'uniqueItems':true},'example':['jpeg','png']},"
    "'widths':{'name':'widths','in':'query','description':'In place of width: a result of each "
    "width, all from the image as it came','style':'form','explode':false,'schema':{"
    "'type':'array','items':{'type':'integer','minimum':1,'maximum':65535},'minItems':1,"
    "'maxItems':16,'uniqueItems':true},'example':[6,7]},";

static const char openapi_palette_parameters[] =
    "'palette':{'name':'palette','in':'query','description':'A ~palette~ of at most 256 colours, "
    "which makes photographs less than half as large','schema':{'type':'boolean','default':false},"
    "'example':true},"
    "'colors':{'name':'colors','in':'query','description':'The most colours in the palette of a "
    "~palette~; given alone, it asks for a palette, too','schema':{'type':'integer','minimum':2,"
    "'maximum':256,'default':256},'example':16},"
    "'dither':{'name':'dither','in':'query','description':'Of a ~palette~ with a palette: colours "
    "between two of it become patterns','schema':{'type':'boolean','default':false},"
    "'example':true},";

static const char openapi_file_parameters[] =
    "'quality':{'name':'quality','in':'query','description':'Of a ~quality~','schema':{"
    "'type':'integer','minimum':1,'maximum':100,'default':85},'example':85},"
    "'compression':{'name':'compression','in':'query','description':'Of a ~compression~: 0 stores, "
    "1 is the fastest, 3 the slowest and the smallest','schema':{'type':'integer','minimum':0,"
    "'maximum':3,'default':1},'example':1},"
    "'progressive':{'name':'progressive','in':'query','description':'A ~progressive~ that is shown "
    "before all of it is loaded; six times as slow','schema':{'type':'boolean','default':false},"
    "'example':false},"
    "'lossless':{'name':'lossless','in':'query','description':'A ~lossless~ that keeps every "
    "sample; quality does nothing','schema':{'type':'boolean','default':false},'example':false},"
    "'effort':{'name':'effort','in':'query','description':'Of a ~effort~: more is slower "
    "and smaller','schema':{'type':'integer','minimum':0,'maximum':6,'default':4},'example':0},"
    "'max_bytes':{'name':'max_bytes','in':'query','description':'Of the result: a ~quality~ "
    "has a quality that fits','schema':{'type':'integer','minimum':1},'example':10000000},"
    "'min_quality':{'name':'min_quality','in':'query','description':'How far max_bytes may lower "
    "quality; no more than quality','schema':{'type':'integer','minimum':1,'maximum':100,"
    "'default':10},'example':10},"
    "'animation':{'name':'animation','in':'query','description':'Of an animation: its first frame, "
    "or all as an animation, if the type has animations','schema':{'enum':['first','keep'],"
    "'default':'first'},'example':'keep'},"
    "'profile':{'name':'profile','in':'query','description':'srgb: colours become sRGB first',"
    "'schema':{'type':'string','enum':['keep','srgb','none'],'default':'keep'},'example':'srgb'},"
    "'metadata':{'name':'metadata','in':'query','description':'That a ~metadata~ gets','schema':{"
    "'type':'string','enum':['none','copyright','keep'],'default':'none'},'example':'keep'},"
    "'background':{'name':'background','in':'query','description':'Colour under transparent "
    "pixels where the type has no transparency, RRGGBB, and of operators that have a background: "
    "RRGGBBAA too; or a CSS colour name',"
    "'schema':{'type':'string','pattern':'" OPENAPI_COLOUR "','default':'ffffff'},"
    "'example':'ffffff'},"
    "'damaged':{'name':'damaged','in':'query','description':'accept: the part of a damaged image "
    "that could be decoded is used, with a note','schema':{'type':'string','enum':['refuse',"
    "'accept'],'default':'refuse'},'example':'refuse'},"
    "'id':{'name':'X-Request-ID','in':'header','description':'Repeated in the answer and the log',"
    "'schema':{'type':'string','pattern':'^[A-Za-z0-9_.-]{1,63}$'},'example':'example-1'}";

static const char openapi_headers[] =
    "'Server-Timing':{'description':'The stages in milliseconds','schema':{'type':'string'}},"
    "'X-Burin-Timing':{'description':'The timing report in one line','content':{"
    "'application/json':{'schema':{'$ref':'#/components/schemas/Report'}}}},"
    "'X-Burin-Device':{'description':'The device that did the work','schema':{'type':'string'}},"
    "'X-Request-ID':{'description':'The id of the request, or a new one','schema':{"
    "'type':'string'}},"
    "'traceparent':{'description':'Trace Context of W3C: your trace or a new one, and the span of "
    "this request','schema':{'type':'string'}},"
    "'Size':{'description':'Pixels','schema':{'type':'integer'}},"
    "'Retry-After':{'description':'Seconds','schema':{'type':'integer'}}";

/* Headers of every answer with an image or a report. */
#define OPENAPI_RESULT_HEADERS                                                                     \
    "'headers':{'Server-Timing':{'$ref':'#/components/headers/Server-Timing'},"                    \
    "'X-Burin-Timing':{'$ref':'#/components/headers/X-Burin-Timing'},"                             \
    "'X-Burin-Device':{'$ref':'#/components/headers/X-Burin-Device'},"                             \
    "'X-Request-ID':{'$ref':'#/components/headers/X-Request-ID'},"                                 \
    "'traceparent':{'$ref':'#/components/headers/traceparent'},"                                   \
    "'X-Origin-Width':{'$ref':'#/components/headers/Size'},"                                       \
    "'X-Origin-Height':{'$ref':'#/components/headers/Size'},"                                      \
    "'X-Result-Width':{'$ref':'#/components/headers/Size'},"                                       \
    "'X-Result-Height':{'$ref':'#/components/headers/Size'}}"

#define OPENAPI_REPORT                                                                             \
    "'application/json':{'schema':{'$ref':'#/components/schemas/Report'}},'multipart/mixed':{}"

/* Types of an answer that may have several results. */
#define OPENAPI_SEVERAL OPENAPI_REPORT ",'application/zip':{}"

#define OPENAPI_IMAGES "~media types~"

static const char openapi_results[] =
    "'Image':{'description':'The image. Several, of widths, types or outputs, come as parts, each "
    "with a filename, its X-Result-Width and X-Result-Height, and last the report; or as a ZIP "
    "archive',"
    "'content':{" OPENAPI_IMAGES "," OPENAPI_SEVERAL "}," OPENAPI_RESULT_HEADERS "},"
    "'Values':{'description':'Numbers or a text, in the report under values; the image too, if the "
    "request names an image type',"
    "'content':{" OPENAPI_SEVERAL "," OPENAPI_IMAGES "}," OPENAPI_RESULT_HEADERS "}";

#define OPENAPI_BODY(picture)                                                                      \
    "{'required':true,'content':{'multipart/form-data':{'schema':{'type':'object',"                \
    "'properties':{" OPENAPI_IMAGE_PART "},'required':['image']},"                                 \
    "'example':{'image':'" picture "'}}," OPENAPI_RAW_BODIES(picture) "}}"

static const char openapi_body[] = OPENAPI_BODY(OPENAPI_PICTURE);
static const char openapi_body_16[] = OPENAPI_BODY(OPENAPI_PICTURE_16);

#define OPENAPI_TEXT  "{'type':'string'}"
#define OPENAPI_COUNT "{'type':'integer','minimum':0}"
#define OPENAPI_NUMBER "{'type':'number'}"
#define OPENAPI_FLAG  "{'type':'boolean'}"

static const char openapi_schemas[] =
    "'Problem':{'type':'object','description':'RFC 9457; message gives advice, code is for "
    "programs','properties':{'type':" OPENAPI_TEXT ",'title':" OPENAPI_TEXT ","
    "'status':{'type':'integer'},'detail':" OPENAPI_TEXT ",'message':" OPENAPI_TEXT ","
    "'code':" OPENAPI_TEXT ",'request_id':" OPENAPI_TEXT ",'trace_id':" OPENAPI_TEXT "},"
    "'required':['type','title','status','detail','message','code','request_id','trace_id']},"
    "'Facts':{'type':'object','properties':{'type':" OPENAPI_TEXT ",'width':" OPENAPI_COUNT ","
    "'height':" OPENAPI_COUNT ",'channels':{'type':'integer','minimum':1,'maximum':4},"
    "'depth':{'enum':[8,16]},'bytes':" OPENAPI_COUNT ",'quality':" OPENAPI_COUNT ","
    "'tries':" OPENAPI_COUNT "},'required':['type','width','height','channels','depth','bytes']},"
    "'Result':{'allOf':[{'$ref':'#/components/schemas/Facts'}],'type':'object','properties':{"
    "'name':" OPENAPI_TEXT ",'notes':{'type':'array','items':" OPENAPI_TEXT "},'ms':{"
    "'type':'object','properties':{'compute':{'type':'number'},'encode':{'type':'number'}}}},"
    "'required':['name','ms']},"
    "'Span':{'type':'object','properties':{'name':" OPENAPI_TEXT ",'ms':{'type':'number'},"
    "'kernels':{'type':'array','items':{'$ref':'#/components/schemas/Span'}}},"
    "'required':['name','ms']},"
    "'Value':{'type':'object','properties':{'operation':" OPENAPI_TEXT ",'step':" OPENAPI_COUNT ","
    "'output':" OPENAPI_COUNT ",'value':{'type':['array','object','string'],"
    "'description':'Of each channel without alpha a number, or a list; or a text or an object',"
    "'items':{'oneOf':[{'type':'number'},{'type':'array','items':{'type':'number'}}]}}},"
    "'required':['operation','step','value']},"
    "'Report':{'type':'object','properties':{'request_id':" OPENAPI_TEXT ","
    "'device':" OPENAPI_TEXT ",'input':{'$ref':'#/components/schemas/Facts'},"
    "'output':{'$ref':'#/components/schemas/Facts'},'manifest':{'type':'array','description':"
    "'Of several results, in place of output','items':{'$ref':'#/components/schemas/Result'}},"
    "'notes':{'type':'array',"
    "'items':" OPENAPI_TEXT "},'ms':{'$ref':'#/components/schemas/Stages'},'values':{"
    "'type':'array','items':{'$ref':'#/components/schemas/Value'}}},"
    "'required':['request_id','device','input','notes','ms']},"
    "'Info':{'type':'object','properties':{'width':" OPENAPI_COUNT ",'height':" OPENAPI_COUNT ","
    "'type':" OPENAPI_TEXT ",'mime_type':" OPENAPI_TEXT ","
    "'space':{'enum':['gray','rgb','ycbcr','cmyk','ycck']},"
    "'hasAlpha':" OPENAPI_FLAG ",'hasProfile':" OPENAPI_FLAG ",'channels':" OPENAPI_COUNT ","
    "'depth':" OPENAPI_COUNT ",'orientation':{'type':'integer','minimum':1,'maximum':8,"
    "'description':'Of EXIF; 1 if there is none. Width and height are those after it'},"
    "'progressive':" OPENAPI_FLAG ","
    "'animated':" OPENAPI_FLAG ",'pixels':" OPENAPI_COUNT ",'size':" OPENAPI_COUNT ","
    "'frames':" OPENAPI_COUNT ",'loops':{'type':'integer','minimum':0,'description':'How often an "
    "animation plays; 0: without end'}},"
    "'required':['width','height','type','mime_type','space','hasAlpha','hasProfile','channels',"
    "'depth','orientation','progressive','animated','pixels','size','frames','loops']}";

/* Apart, since compilers need not take a text of over 4095 bytes. */
static const char openapi_status_schemas[] =
    "'Operators':{'type':'object','properties':{'groups':{'type':'array','items':" OPENAPI_TEXT
    "},'operators':{'type':'array','items':{"
    "'type':'object','properties':{'name':" OPENAPI_TEXT ",'title':" OPENAPI_TEXT ","
    "'summary':" OPENAPI_TEXT ",'group':" OPENAPI_TEXT ","
    "'aliases':{'type':'array','items':" OPENAPI_TEXT "},"
    "'parameters':{'type':'array','items':{'type':'object'}},'parts':{'type':'array','items':{"
    "'type':'object'}},'values':{'enum':['number','list','object','text']},'depth':{'enum':[8,16]},"
    "'widths':{'const':true}},"
    "'required':['name','summary','parameters','parts']}}},'required':['groups','operators']},"
    "'Readiness':{'type':'object','properties':{'status':" OPENAPI_TEXT ","
    "'queued':" OPENAPI_COUNT ",'queue_jobs':" OPENAPI_COUNT ",'workers':{'type':'array','items':{"
    "'type':'object'}},'reload':{'type':'object'}},"
    "'required':['status','queued','queue_jobs','workers']},"
    "'Live':{'type':'object','properties':{'status':{'const':'live'}},'required':['status']},"
    "'Progress':{'type':'object','properties':{'state':{'enum':['waiting','running','unknown']},"
    "'step':" OPENAPI_COUNT ",'operation':" OPENAPI_TEXT ",'done':" OPENAPI_COUNT ","
    "'total':" OPENAPI_COUNT ",'unit':" OPENAPI_TEXT "},'required':['state']},"
    "'Quota':{'type':'object','properties':{'key':" OPENAPI_TEXT ",'group':" OPENAPI_TEXT ","
    "'in_progress':" OPENAPI_COUNT ",'limits':{'type':'object','additionalProperties':{"
    "'type':'object','properties':{'most':" OPENAPI_NUMBER ",'left':" OPENAPI_NUMBER ","
    "'full_after_s':" OPENAPI_NUMBER "}}}},'required':['key','group','in_progress','limits']}";

#define OPENAPI_GET(path, id, summary, answers)                                                    \
    "'" path "':{'get':{'operationId':'" id "','tags':['service'],'summary':'" summary             \
    "','responses':{" answers ",'4XX':{'$ref':'#/components/responses/400'}}}}"

#define OPENAPI_JSON(description, schema)                                                          \
    "{'description':'" description "','content':{'application/json':{'schema':{'$ref':"            \
    "'#/components/schemas/" schema "'}}}}"

static const char openapi_service_paths[] =
    OPENAPI_GET("/ops", "get-ops", "Every operator with its parameters",
                "'200':" OPENAPI_JSON("The operators", "Operators")) ","
    OPENAPI_GET("/openapi.json", "get-openapi", "This description",
                "'200':{'description':'OpenAPI 3.1','content':{'application/json':{'schema':{"
                "'type':'object'}}}}") ","
    OPENAPI_GET("/quota", "get-quota", "What a key may ask for, and what is left of it",
                "'200':" OPENAPI_JSON("Those of the key that the token is of", "Quota")
                ",'401':{'$ref':'#/components/responses/401'},"
                "'404':{'$ref':'#/components/responses/400'}") ","
    "'/progress/{id}':{'get':{'operationId':'get-progress','tags':['service'],'summary':'The "
    "progress of the request with this X-Request-ID','parameters':[{'name':'id','in':'path',"
    "'required':true,'schema':{'type':'string'},'example':'example-1'}],'responses':{"
    "'200':" OPENAPI_JSON("State unknown: no such request is in progress", "Progress") ","
    "'4XX':{'$ref':'#/components/responses/400'}}}},"
    OPENAPI_GET("/livez", "get-livez", "Does the process run?",
                "'200':" OPENAPI_JSON("It does", "Live")) ","
    OPENAPI_GET("/health", "get-health", "Does the process run?",
                "'200':" OPENAPI_JSON("It does", "Live")) ","
    OPENAPI_GET("/readyz", "get-readyz", "Is there room for a request and a worker to do it?",
                "'200':" OPENAPI_JSON("There is", "Readiness") ","
                "'503':" OPENAPI_JSON("Not now; status gives the reason", "Readiness")) ","
    OPENAPI_GET("/metrics", "get-metrics", "Counters in the text format of Prometheus",
                "'200':{'description':'Counters','content':{'text/plain':{'schema':{"
                "'type':'string'}},'application/openmetrics-text':{'schema':{"
                "'type':'string'}}}}");

// clang-format on

#endif
