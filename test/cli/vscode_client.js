// SPDX-License-Identifier: Apache-2.0
// The VS Code extension with stand-ins for VS Code and its language client: prints what it does.
'use strict';

const Module = require('module');

const seen = [];
const settings = { path: '/opt/vyre', server: true };
const commands = {};
let onChange;

const vscode = {
  workspace: {
    getConfiguration: () => ({ get: (name) => settings[name] }),
    onDidChangeConfiguration: (handler) => { onChange = handler; return {}; },
  },
  window: { showWarningMessage: (text) => seen.push(`warning: ${text}`) },
  commands: { registerCommand: (name, run) => { commands[name] = run; return {}; } },
};
class LanguageClient {
  constructor(id, name, server, client) {
    this.what = `${server.command} ${server.args.join(' ')} for ${client.documentSelector[0].language}`;
  }
  async start() {
    if (settings.path === 'missing') throw new Error('ENOENT');
    seen.push(`start ${this.what}`);
  }
  async stop() { seen.push('stop'); }
}

const load = Module._load;
let installed = true;
Module._load = function (request, ...rest) {
  if (request === 'vscode') return vscode;
  if (request === 'vscode-languageclient/node') {
    if (!installed) throw new Error('not installed');
    return { LanguageClient };
  }
  return load.call(this, request, ...rest);
};

async function run() {
  const extension = require(process.argv[2]);
  await extension.activate({ subscriptions: [] });
  await commands['vyre.restartServer']();
  settings.path = 'missing';
  await commands['vyre.restartServer']();
  settings.server = false;
  await commands['vyre.restartServer']();
  settings.server = true;
  installed = false;
  await commands['vyre.restartServer']();
  await extension.deactivate();
  if (!onChange) seen.push('settings are not watched');
  console.log(JSON.stringify(seen));
}
run();
