// Counts the tokens of the native agent's first request: without MCP servers, with one, and with ten of fifty tools each.
// Compares the request without servers with the recorded one of each wire. Writes bench/MCP-SERVERS.md.
import { join } from "node:path";
import recorded from "../test/fixtures/requests/first-request.json";
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
/** The bytes of the first request without servers, and whether they are those of the recorded one. */
async function requestOn([wire, name]: [string, string]): Promise<string> {
  await using journey = serverJourney([], {}, { PATH: "/usr/bin:/bin" });
  const { skein, model } = journey;
  const { session_id: session } = (await skein.run(["run", "say hi", "-m", name, "--json"])).json() as { session_id: string };
  const text = model.main()[0]!.text.replaceAll(skein.project, "<project>").replaceAll(session, "<session>");
  const isSame = text === (recorded as Record<string, string>)[wire];
  return `| ${wire} | ${Buffer.byteLength(text)} | ${isSame ? "byte for byte" : "**no**"} |`;
}

const wires = [];
for (const entries of Object.entries(wireModels)) wires.push(await requestOn(entries));
const report = `# Tokens of MCP servers

\`npm run bench:mcp-servers\` writes this page. It counts the tool definitions of the native agent's first request with one tokenizer (o200k_base). System prompt and messages do not change. The limit is 150 tokens for ten servers of fifty tools each. \`test/journeys/run/mcp-servers.test.ts\` tests both tables.

| servers | their tools | tokens of definitions | more than without |
|---|---|---|---|
${rows.join("\n")}

Without servers, the whole first request is compared with the recorded one. Only the names of the project and the session are replaced.

| wire | bytes | as recorded |
|---|---:|---|
${wires.join("\n")}
`;
await Bun.write(join(import.meta.dir, "MCP-SERVERS.md"), report);
process.stdout.write(report);
