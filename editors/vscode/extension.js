// SPDX-License-Identifier: Apache-2.0
// Starts `vyre lsp` for .vyre files and restarts it on request. Highlighting works without it.
'use strict';

const vscode = require('vscode');

let client;

function settings() {
  return vscode.workspace.getConfiguration('vyre');
}

async function start() {
  let languageClient;
  try {
    languageClient = require('vscode-languageclient/node');
  } catch (error) {
    vscode.window.showWarningMessage(
      'Vyre: the language client is not installed. Fix: run `npm install` in the folder of the extension.');
    return;
  }
  const server = { command: settings().get('path'), args: ['lsp'] };
  client = new languageClient.LanguageClient('vyre', 'Vyre', server, {
    documentSelector: [{ language: 'vyre' }],
  });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    vscode.window.showWarningMessage(
      `Vyre: '${server.command} lsp' does not start (${error.message}). Fix: set vyre.path to the vyre program.`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running) await running.stop();
}

async function restart() {
  await stop();
  if (settings().get('server')) await start();
}

async function activate(context) {
  context.subscriptions.push(vscode.commands.registerCommand('vyre.restartServer', restart));
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('vyre')) restart();
    }));
  if (settings().get('server')) await start();
}

module.exports = { activate, deactivate: stop };
