-- skein in Neovim. Use one of the two plugins. Neither was tried with skein; the settings follow their documentation.

-- CodeCompanion: an adapter of the Agent Client Protocol.
require("codecompanion").setup({
  adapters = {
    acp = {
      skein = function()
        local helpers = require("codecompanion.adapters.acp.helpers")
        return {
          name = "skein",
          formatted_name = "skein",
          type = "acp",
          roles = { llm = "assistant", user = "user" },
          commands = { default = { "skein", "acp" } },
          defaults = { mcpServers = {}, timeout = 20000 },
          parameters = {
            protocolVersion = 1,
            clientCapabilities = { fs = { readTextFile = true, writeTextFile = true } },
            clientInfo = { name = "CodeCompanion.nvim", version = "1.0.0" },
          },
          handlers = {
            setup = function() return true end,
            auth = function() return true end,
            form_messages = function(self, messages, capabilities)
              return helpers.form_messages(self, messages, capabilities)
            end,
          },
        }
      end,
    },
  },
  interactions = { chat = { adapter = "skein" } },
})

-- avante.nvim: a provider of the Agent Client Protocol.
require("avante").setup({
  provider = "skein",
  acp_providers = {
    skein = { command = "skein", args = { "acp" }, env = {} },
  },
})
