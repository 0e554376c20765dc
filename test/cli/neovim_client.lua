-- SPDX-License-Identifier: Apache-2.0
-- A session of Neovim with `vyre lsp`: opens $FILE, types, asks, renames, lays out, and writes what
-- it saw to $OUT as JSON.
local seen = {}
local exit_code = nil

local function finish()
  local file = assert(io.open(vim.env.OUT, 'w'))
  file:write(vim.fn.json_encode(seen))
  file:close()
  vim.cmd('qa!')
end

local function messages()
  local list = {}
  for _, d in ipairs(vim.diagnostic.get(0)) do
    table.insert(list, { code = d.code, line = d.lnum, column = d.col, message = d.message })
  end
  return list
end

local function lines()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
end

local function run()
  vim.cmd('edit ' .. vim.env.FILE)
  local id = vim.lsp.start_client({
    name = 'vyre',
    cmd = { vim.env.VYRE, 'lsp' },
    root_dir = vim.fn.getcwd(),
    on_exit = function(code) exit_code = code end,
  })
  vim.lsp.buf_attach_client(0, id)
  local client = vim.lsp.get_client_by_id(id)
  local function wait(condition) return vim.wait(20000, condition, 10) end
  local function ask(method, params)
    local answers = vim.lsp.buf_request_sync(0, method, params, 20000)
    return answers and answers[id] and answers[id].result
  end
  local function here() return vim.lsp.util.make_position_params(0, client.offset_encoding) end
  local function jump(text) vim.fn.cursor(1, 1) vim.fn.search('\\V' .. text, 'c') end

  -- What is wrong, and what mends it.
  wait(function() return #vim.diagnostic.get(0) > 0 end)
  seen.first = messages()
  local range = vim.lsp.util.make_given_range_params({ 1, 0 }, { vim.fn.line('$'), 0 }, 0,
    client.offset_encoding)
  range.context = { diagnostics = {} }
  local actions = ask('textDocument/codeAction', range) or {}
  seen.actions = {}
  for _, action in ipairs(actions) do table.insert(seen.actions, action.title) end
  if actions[1] then
    vim.lsp.util.apply_workspace_edit(actions[1].edit, client.offset_encoding)
    wait(function() return #vim.diagnostic.get(0) == 0 end)
  end
  seen.mended = messages()

  -- Typing, with letters of two and four bytes on the way.
  vim.api.nvim_buf_set_text(0, 0, 0, 0, 0, { '// ä 😀 ', '' })
  local last = vim.api.nvim_buf_line_count(0) - 2
  vim.api.nvim_buf_set_text(0, last, 0, last, 0, { '  wrong' })
  wait(function() return #vim.diagnostic.get(0) > 0 end)
  seen.typed = messages()
  vim.api.nvim_buf_set_text(0, last, 0, last, 7, { '' })
  wait(function() return #vim.diagnostic.get(0) == 0 end)
  seen.typed_back = messages()

  -- Questions at a place.
  jump('i = gid')
  seen.hover = (ask('textDocument/hover', here()) or {}).contents
  local references = here()
  references.context = { includeDeclaration = true }
  seen.references = #(ask('textDocument/references', references) or {})
  jump('i]')
  seen.definition = (ask('textDocument/definition', here()) or {}).range
  local labels = {}
  for _, item in ipairs((ask('textDocument/completion', here()) or {}).items or {}) do
    labels[item.label] = true
  end
  seen.completion = { own = labels.i == true, built_in = labels.atomic_add == true }

  -- Edits.
  local rename = here()
  rename.newName = 'place'
  local edit = ask('textDocument/rename', rename)
  if edit then vim.lsp.util.apply_workspace_edit(edit, client.offset_encoding) end
  local layout = ask('textDocument/formatting', vim.lsp.util.make_formatting_params())
  if layout then vim.lsp.util.apply_text_edits(layout, 0, client.offset_encoding) end
  seen.text = lines()

  client.stop()
  wait(function() return exit_code ~= nil end)
  seen.exit_code = exit_code
end

local ok, why = pcall(run)
if not ok then seen.failed = tostring(why) end
finish()
