// Compares skein with tools that drive other agents' CLIs, on the same work in one run, and writes RIVALS.md.
// `-- --only <tool>` runs the rows that begin with that name, and writes nothing.
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { buildSkein } from "../contenders.ts";
import { installPeers, peerPackages } from "../peers.ts";
import { experiments, type Experiment } from "./experiments.ts";
import { installRivals, rivalPackages } from "./install.ts";

const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : undefined;

await installPeers(["claude", "codex"]);
await installRivals();
const [program] = (await buildSkein()).command("");
const sections: string[] = [];
for (const experiment of experiments(program!)) sections.push(await tableOf(experiment));
const report = `# skein and its rivals, on the same work

${new Date().toISOString().slice(0, 10)}, \`npm run bench:rivals\`; ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} at the end; one run each, so seconds are rough. Real ${peerPackages.claude} and ${peerPackages.codex} on one scripted model server; rivals from npm: ${Object.values(rivalPackages).flat().join(", ")}. Cells are observed in the repository and at the server.

${sections.join("\n\n")}
`;
console.log(report);
if (only === undefined) await Bun.write(join(import.meta.dir, "..", "RIVALS.md"), report);
process.exit(0);

async function tableOf({ title, columns, rows, absent }: Experiment): Promise<string> {
  const lines = [`| | ${columns.join(" | ")} |`, `|---|${columns.map(() => "---|").join("")}`];
  for (const [name, run] of Object.entries(rows)) {
    if (only !== undefined && !name.startsWith(only)) continue;
    console.error(`${title}: ${name}`);
    lines.push(`| ${name} | ${(await run()).join(" | ")} |`);
  }
  return `## ${title}\n\n${lines.join("\n")}\n\n${absent}`;
}
