// Counts the tokens of the native agent's first request: without MCP servers, with one, and with ten of fifty tools each.
// Writes bench/MCP-SERVERS.md.
import { join } from "node:path";
import { serverJourney, testServerEntry } from "../test/support/server-journey.ts";
import { wireModels } from "../test/support/temporary-home.ts";
import { promptTokens } from "./tokens.ts";

const entry = testServerEntry([], { env: { TOOL_COUNT: "41" } });

async function tokensWith(count: number): Promise<number> {
  const names = Array.from({ length: count }, (_, index) => `server-${index}`);
  await using journey = serverJourney([], Object.fromEntries(names.map((name) => [name, entry])), { PATH: "/usr/bin:/bin" });
  await journey.skein.run(["run", "say hi", "-m", wireModels.anthropic]);
  return promptTokens(journey.model.main()[0]!).tools;
}

const without = await tokensWith(0);
const rows = [];
for (const count of [0, 1, 10]) {
  const tokens = await tokensWith(count);
  rows.push(`| ${count} | ${count * 50} | ${tokens} | ${tokens - without} |`);
}
const report = `# Tokens of MCP servers

\`npm run bench:mcp-servers\` writes this page. It counts the tool definitions of the native agent's first request with one tokenizer (o200k_base). System prompt and messages do not change. The limit is 150 tokens for ten servers of fifty tools each. A test compares the request without servers with a recorded one, byte for byte (\`test/journeys/run/mcp-servers.test.ts\`).

| servers | their tools | tokens of definitions | more than without |
|---|---|---|---|
${rows.join("\n")}
`;
await Bun.write(join(import.meta.dir, "MCP-SERVERS.md"), report);
process.stdout.write(report);
