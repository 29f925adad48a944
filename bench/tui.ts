// Compares the TUI with those of other programs, each in its own terminal with the same conversation and stream: time
// to the end of the conversation and after a key, output, memory and CPU. Writes TUI.md, unless with `-- --quick`,
// `-- --before <executable>`, which adds an earlier build of skein, or the names of some programs, which measures only them.
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, release, tmpdir } from "node:os";
import { join } from "node:path";
import { before, median } from "./table.ts";
import { framesTable, measureFrames, type Frames } from "./tui-frames.ts";
import { pieces, piecesPerSecond, streamEnd, streamPrompt } from "./tui-model.ts";
import { openPty, size, type Pty } from "./tui-pty.ts";
import { environmentOf, readyScreens, type Screen, type ScreenSite } from "./tui-screens.ts";
import { lastWords } from "./tui-session.ts";

const isQuick = process.argv.includes("--quick");
const blocks = isQuick ? 1000 : 10_000;
const rounds = isQuick ? 1 : 3;
const limitMs = isQuick ? 60_000 : 300_000;
const allNames = ["skein", "pi", "opencode"];
const chosenNames = allNames.filter((name) => process.argv.includes(name));
const names = chosenNames.length > 0 ? chosenNames : allNames;
const isReport = !isQuick && chosenNames.length === 0 && !process.argv.includes("--before");

type Figures = {
  firstFrameMs: number;
  loadedBytes: number;
  keyMs: number[];
  streamKeyMs: number[];
  streamMs: number;
  cpuMs: number;
  writtenBytes: number;
  peakBytes: number;
};

type Row = { what: string; value: (figures: Figures) => number; digits?: number };

const megabyte = 1_000_000;
const rows: Row[] = [
  { what: "start → end of the conversation shown, ms", value: ({ firstFrameMs }) => firstFrameMs },
  { what: "memory at that time, MB", value: ({ loadedBytes }) => loadedBytes / megabyte },
  { what: "key → its letter is written, median, ms", value: ({ keyMs }) => median(keyMs), digits: 1 },
  { what: "key → its letter is written, slowest, ms", value: ({ keyMs }) => Math.max(...keyMs), digits: 1 },
  { what: "the same while it streams, median, ms", value: ({ streamKeyMs }) => median(streamKeyMs), digits: 1 },
  { what: "the same while it streams, slowest, ms", value: ({ streamKeyMs }) => Math.max(...streamKeyMs), digits: 1 },
  { what: `a stream of ${pieces / piecesPerSecond} s is shown after, ms`, value: ({ streamMs }) => streamMs },
  { what: "CPU while it streams, ms", value: ({ cpuMs }) => cpuMs },
  { what: "bytes to the terminal while it streams, KB", value: ({ writtenBytes }) => writtenBytes / 1000 },
  { what: "peak memory of the tree, MB", value: ({ peakBytes }) => peakBytes / megabyte },
];

const frames = await measureFrames(blocks);
const model = Bun.spawn([process.execPath, join(import.meta.dir, "tui-model.ts")], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
const results = new Map<Screen, Figures[]>();
try {
  const { value } = await model.stdout.getReader().read();
  const url = new TextDecoder().decode(value).trim();
  const sites = new Map<Screen, ScreenSite>();
  for (const screen of await readyScreens(names)) sites.set(screen, await openSite(screen, url));
  for (let round = 0; round < rounds; round += 1)
    for (const [screen, site] of sites) {
      restore(site);
      const figures = await measure(screen, site);
      console.error(
        screen.name,
        JSON.stringify(figures, (_, value: unknown) => (typeof value === "number" ? Math.round(value) : value)),
      );
      results.set(screen, [...(results.get(screen) ?? []), figures]);
    }
  for (const { root } of sites.values()) for (const directory of [root, seedOf(root)]) rmSync(directory, { recursive: true, force: true });
} finally {
  await model.stdin.end();
  await model.exited;
}
const report = text(frames);
console.log(report);
if (isReport) await Bun.write(join(import.meta.dir, "TUI.md"), report);

async function openSite(screen: Screen, url: string): Promise<ScreenSite> {
  const root = mkdtempSync(join(tmpdir(), `bench-tui-${screen.name}-`));
  const site = { url, root, home: join(root, "home"), cwd: join(root, "project") };
  for (const directory of [site.home, site.cwd]) mkdirSync(directory);
  await Bun.spawn(["git", "init", "-q", site.cwd], { stdout: "ignore" }).exited;
  await screen.seed(site, blocks);
  cpSync(root, seedOf(root), { recursive: true });
  return site;
}

function seedOf(root: string): string {
  return `${root}-seed`;
}

/** A run adds to the conversation, so each run starts with a copy of the same one. */
function restore({ root }: ScreenSite): void {
  rmSync(root, { recursive: true, force: true });
  cpSync(seedOf(root), root, { recursive: true });
}

async function measure(screen: Screen, site: ScreenSite): Promise<Figures> {
  const pty = openPty(screen.command(site), site.cwd, environmentOf(screen, site));
  try {
    const firstFrameMs = await pty.until(lastWords, limitMs);
    await Bun.sleep(2000);
    const loadedBytes = pty.rssBytes();
    const keyMs = await pressAll(pty, "БГДЖЗИЙЛПФЦЧШЩЫЭЮЯ");
    pty.mark();
    const cpuBefore = pty.cpuMs();
    let peakBytes = loadedBytes;
    const sampling = setInterval(() => (peakBytes = Math.max(peakBytes, pty.rssBytes())), 500);
    for (const letter of streamPrompt) {
      pty.type(letter);
      await Bun.sleep(20);
    }
    pty.type("\r");
    const ended = pty.until(streamEnd, limitMs);
    await Bun.sleep(2000);
    const streamKeyMs = await pressAll(pty, "бгджзийлпфцчшщыэюя");
    const streamMs = await ended;
    clearInterval(sampling);
    return {
      firstFrameMs,
      loadedBytes,
      keyMs,
      streamKeyMs,
      streamMs,
      cpuMs: pty.cpuMs() - cpuBefore,
      writtenBytes: pty.bytes(),
      peakBytes,
    };
  } finally {
    await pty.end();
  }
}

/** Types letters that are nowhere else on the screen, one by one, and deletes them again. */
async function pressAll(pty: Pty, letters: string): Promise<number[]> {
  const times: number[] = [];
  for (const letter of letters) {
    const painted = pty.until(letter, limitMs);
    pty.type(letter);
    times.push(await painted);
    pty.type("\x7f");
    await Bun.sleep(100);
  }
  return times;
}

function text(inside: Frames): string {
  const screens = [...results.keys()];
  const cell = (screen: Screen, { value, digits = 0 }: Row) => median((results.get(screen) ?? []).map(value)).toFixed(digits);
  const table = rows.map((row) => {
    const values = screens.map((screen) => Number(cell(screen, row)));
    const skein = values[0] ?? 0;
    const peers = values.filter((_, index) => index > 0 && screens[index]!.name !== before);
    const ratio = peers.length > 0 ? (skein / Math.min(...peers)).toFixed(2) : "–";
    return `| ${row.what} | ${screens.map((screen) => cell(screen, row)).join(" | ")} | ${ratio} |`;
  });
  const load = loadavg().map((value) => value.toFixed(1));
  return `# The full screen with ${blocks.toLocaleString("en-US")} blocks

${new Date().toISOString().slice(0, 10)}, \`npm run bench:tui\`; Bun ${Bun.version}, Linux ${release().split(".", 2).join(".")}, ${cpus().length} cores, load ${load.join(" ")} at the end.

Each program is in a pty of ${size.cols} × ${size.rows} that answers like a plain xterm, with the same conversation: ${blocks / 4} rounds of a message, an answer in Markdown, a call and a short answer. pi opens it as its own file, skein has imported that file, opencode has imported the same in its own format. Then a message is sent, and the model on this machine answers in ${pieces.toLocaleString("en-US")} pieces, ${piecesPerSecond} a second; meanwhile letters are typed that are nowhere else on the screen. Times end when the text has been written to the terminal. Memory is the resident memory of the program and its child processes. Medians of ${rounds} runs, interleaved. The last column is skein's figure divided by that of the best other program.

| | ${screens.map(({ name, version }) => `${name} ${version}`).join(" | ")} | ratio |
|---|${screens.map(() => "---:|").join("")}---:|
${table.join("\n")}

Inside skein's own process (\`bun bench/tui-frames.ts\`), on the same renderer without a terminal: computing the next state, rendering it and drawing its cells, in ms, and the CPU time of its thread in that. The rest is waiting, mostly for other programs. The program draws at most ten times a second while text streams, which also limits its output. The last row but one draws every piece separately without a pause, which is worse than the real worst case.

${framesTable(inside)}
`;
}
