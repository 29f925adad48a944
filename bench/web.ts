// Measures the page of `skein web` in a real Chromium: a long conversation, beside opencode's page with the same one, a large
// tree, a stream of 5,000 pieces, and a run that ten browsers watch. Writes WEB.md; `-- --quick` measures once and does not.
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { peerPackages } from "./peers.ts";
import { median } from "./table.ts";
import { pieces, piecesPerSecond } from "./tui-model.ts";
import { measureWatchedRun } from "./web-crowd.ts";
import { firstMatch, measureOpencode, measureSkein, measureTree } from "./web-programs.ts";

const isQuick = process.argv.includes("--quick");
const rounds = isQuick ? 1 : 3;
const blocks = 5_000;
const nodes = 10_000;
const browsers = 10;

const conversation = [
  ["click → the end of the conversation is shown, ms", "clickMs", 0],
  ["address → the end of the conversation is shown, ms", "openMs", 0],
  ["rows in the document then", "rows", 0],
  ["JavaScript heap then, MB", "heapMb", 1],
  ["scrolling: median frame, ms", "scrollMedianMs", 1],
  ["scrolling: frames over 32 ms, of 300", "scrollLate", 0],
  ["streaming: median frame, ms", "streamMedianMs", 1],
  ["streaming: longest frame, ms", "streamLongestMs", 1],
  ["streaming: frames over 32 ms", "streamLate", 0],
  ["JavaScript heap afterwards, MB", "heapAfterMb", 1],
] as const;
const tree = [
  ["click on the tab → the latest row is shown, ms", "clickMs", 0],
  ["address → the latest row is shown, ms", "openMs", 0],
  ["rows in the document then", "rows", 0],
  ["scrolling: median frame, ms", "scrollMedianMs", 1],
  ["scrolling: frames over 32 ms, of 300", "scrollLate", 0],
  ["JavaScript heap afterwards, MB", "heapMb", 1],
] as const;

type Figures = Record<string, number>;
const results = {
  skein: [] as Figures[],
  opencode: [] as Figures[],
  tree: [] as Figures[],
  alone: [] as number[],
  watched: [] as number[],
};

const model = Bun.spawn([process.execPath, join(import.meta.dir, "tui-model.ts")], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
const modelUrl = await firstMatch(model.stdout, /(http\S+)/);
try {
  for (let round = 0; round < rounds; round += 1) {
    results.skein.push(await measureSkein(modelUrl, blocks));
    results.opencode.push(await measureOpencode(modelUrl, blocks));
    results.tree.push(await measureTree(modelUrl, nodes));
    results.alone.push(await measureWatchedRun(0));
    results.watched.push(await measureWatchedRun(browsers));
  }
} finally {
  await model.stdin.end();
  await model.exited;
}
const report = text();
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "WEB.md"), report);

function cell(figures: readonly Figures[], field: string, digits: number): string {
  const values = figures.flatMap((each) => each[field] ?? []);
  return values.length === 0 ? "" : `${median(values).toFixed(digits)} (${Math.max(...values).toFixed(digits)})`;
}

function text(): string {
  const load = loadavg()
    .map((value) => value.toFixed(1))
    .join(" ");
  const thousands = (value: number) => value.toLocaleString("en");
  const runs = (values: number[]) => `${median(values).toFixed(0)} (${Math.max(...values).toFixed(0)})`;
  return `# The web page with ${thousands(blocks)} blocks and ${thousands(nodes)} nodes

${new Date().toISOString().slice(0, 10)}, \`npm run bench:web\`; Bun ${Bun.version}, Linux ${release().split("-")[0]}, ${cpus().length} cores, load ${load} at the end. Medians of ${rounds} ${rounds === 1 ? "run" : "runs"}, the worst in brackets.

A headless Chromium without a graphics processor opens a session with ${thousands(blocks)} imported blocks. It scrolls back for 300 frames of 300 pixels. Then a message is sent, and a model on this machine answers in ${thousands(pieces)} pieces, ${piecesPerSecond} a second. Browser, hub and model share the processors. ${peerPackages.opencode} shows the same conversation in its own page, after one visit that fills its caches; it loads a part of it and more when one scrolls.

| conversation | skein | opencode |
|---|---:|---:|
${conversation.map(([title, field, digits]) => `| ${title} | ${cell(results.skein, field, digits)} | ${cell(results.opencode, field, digits)} |`).join("\n")}

| tree with ${thousands(nodes)} nodes | skein |
|---|---:|
${tree.map(([title, field, digits]) => `| ${title} | ${cell(results.tree, field, digits)} |`).join("\n")}

## Ten browsers watch one run

One run at a model's pace: 100 pieces of text a second, 4 calls after each 100. Milliseconds from its second request to its last, without a browser and with ${browsers}, each a Chromium of its own that must show the end. The browsers get only the time that nothing else uses (\`chrt --idle 0\`), because readers sit at other machines. The hub serves on both sides.

| no browser | ${browsers} browsers | ratio |
|---:|---:|---:|
| ${runs(results.alone)} | ${runs(results.watched)} | ${(median(results.watched) / median(results.alone)).toFixed(2)} |
`;
}
