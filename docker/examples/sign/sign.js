// SPDX-License-Identifier: Apache-2.0
// node sign.js FILE KEY METHOD PATH [NAME=VALUE]... prints an address that a key of a file of keys has signed, for five minutes.
const { createHmac } = require("node:crypto");
const { readFileSync } = require("node:fs");

function signed(method, path, key, secret, query) {
    const all = { key, expires: Math.floor(Date.now() / 1000) + 300, ...query };
    const encoded = text => encodeURIComponent(text).replace(/[!'()*]/g, c => "%" + c.charCodeAt(0).toString(16).toUpperCase());
    const names = Object.keys(all).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const text = names.map(name => `${encoded(name)}=${encoded(all[name])}`).join("&");
    const digest = createHmac("sha256", Buffer.from(secret, "base64url")).update(`burin-1\n${method}\n${path}\n${text}`).digest("base64url");
    return `${path}?${text}&signature=${digest}`;
}

const [file, key, method, path, ...rest] = process.argv.slice(2);
const query = Object.fromEntries(rest.map(argument => argument.split(/=(.*)/s)));
if (Object.keys(query).length < rest.length) throw new Error("a name is given twice");
const { secret } = JSON.parse(readFileSync(file, "utf8")).keys.find(entry => entry.id === key);
console.log(signed(method, path, key, secret, query));
