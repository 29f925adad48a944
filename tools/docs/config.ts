// Prints docs/CONFIG.md from the tables of keys and variables. A test holds the file to it.
import { environmentVariables, type EnvGroup } from "../../src/config/env.ts";
import { configKeys, type ConfigKey } from "../../src/config/keys.ts";
import { trustSources } from "../../src/config/trust.ts";
import { expectedText } from "../../src/config/check-value.ts";

export function printConfigDocs(): string {
  return [heading, keysTable(), values, variables(), directories, trust(), ""].join("\n\n");
}

const heading = `# Configuration

<!-- Printed from src/config/keys.ts and src/config/env.ts; change those. -->

skein works without any configuration. Where you want something else, the layers are, weakest first:

1. the defaults below,
2. your own file, \`config.jsonc\` in the config directory (\`skein config path\` says where),
3. the project's file, \`.skein/config.jsonc\`,
4. environment variables,
5. flags.

Both files are JSON with comments and trailing commas; \`$schema\` is allowed. An unknown key, a value of the wrong type or
a broken file is an error (exit code 3) that names the file, and skein does nothing until it is right: a typing error never
turns a wall off.

\`\`\`jsonc
{
  "model": "anthropic/claude-sonnet-4-5",
  "max_budget_usd": 2,
  "timeout": "30m",
  "providers": {
    "acme": { "base_url": "https://models.acme.example/v1", "wire": "openai-chat", "api_key": "$ACME_KEY" },
  },
}
\`\`\`

- \`skein config\` shows every value and where it comes from; keys and headers only show that they are set.
- \`skein config get <key>\` prints one value.
- \`skein config set <key> <value> [--project]\` changes a file and keeps your comments; the value \`null\` takes the key out.
- \`skein config schema\` prints the JSON schema; \`skein init\` puts it beside the project's file, so that editors know the keys.`;

function keysTable(): string {
  const rows = configKeys.map(
    (row) =>
      `| \`${row.key.replace("*", "<name>")}\` | ${typeOf(row)} | ${defaultOf(row)} | ${row.env ? `\`${row.env}\`` : ""} | ${rights[row.project]} | ${row.description} |`,
  );
  return [
    "## Keys",
    "",
    "| key | value | default | variable | untrusted project | what it does |",
    "|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

const rights: Record<ConfigKey["project"], string> = { yes: "may set it", narrow: "may narrow it", trusted: "ignored" };

function typeOf(row: ConfigKey): string {
  return row.type === "choice" ? (row.choices ?? []).map((choice) => `\`${choice}\``).join(", ") : expectedText(row);
}

function defaultOf(row: ConfigKey): string {
  return row.default === null || (Array.isArray(row.default) && row.default.length === 0)
    ? ""
    : `\`${JSON.stringify(row.default).replaceAll('"', "")}\``;
}

const values = `A key that is \`null\` counts as not set. To narrow means: a lower limit, fewer tools, a stricter policy or sandbox, the network
off, less in the prompt.`;

function variables(): string {
  const groups = [...new Set(environmentVariables.map((row) => row.group))];
  const table = (group: EnvGroup): string[] =>
    environmentVariables.filter((row) => row.group === group).map((row) => `| \`${row.name}\` | ${row.description} |`);
  return [
    "## Environment variables",
    "",
    "Besides those that set a key above. An empty variable counts as not set.",
    ...groups.flatMap((group) => [
      "",
      `### ${group[0]?.toUpperCase()}${group.slice(1)}`,
      "",
      "| variable | what it does |",
      "|---|---|",
      ...table(group),
    ]),
  ].join("\n");
}

const directories = `## Directories

| what | where | with \`SKEIN_HOME\` |
|---|---|---|
| configuration, your skills | \`\${XDG_CONFIG_HOME:-~/.config}/skein\` | \`$SKEIN_HOME/config\` |
| the tree, whole outputs | \`\${XDG_DATA_HOME:-~/.local/share}/skein\` | \`$SKEIN_HOME/data\` |
| state, logs, trust | \`\${XDG_STATE_HOME:-~/.local/state}/skein\` | \`$SKEIN_HOME/state\` |
| what can be made again | \`\${XDG_CACHE_HOME:-~/.cache}/skein\` | \`$SKEIN_HOME/cache\` |

The project is the nearest directory, from the working directory upwards, that has \`.skein/\` or \`.git\`; without one it is the
working directory. Your home directory, \`/\` and places like \`/tmp\` are a project only when you work directly in them.`;

function trust(): string {
  return `## Trust

A project may only narrow what your own configuration allows. What could send your words or keys elsewhere or open a wall
(the keys marked "ignored" above, and wider values of those marked "may narrow it") is left out of an untrusted project's
config, and one warning lists it. When you have read the files, \`skein trust\` accepts them:

${trustSources.map((source) => `- \`${source}\``).join("\n")}

Trust belongs to the directory with exactly this content: when one of these files changes, appears or goes, the project is
untrusted again. \`skein trust --revoke\` takes it back. Headless runs take \`--trust\` or \`--no-trust\` for one run.`;
}
