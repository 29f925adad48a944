// Measures the page of `skein web` in a real Chromium: a conversation of 5,000 blocks and a stream of 5,000 pieces. Writes
// WEB.md; `-- --quick` measures once and does not.
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { openBrowser, type Page } from "../test/support/browser.ts";
import { skeinCommand, temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../test/support/temporary-home.ts";
import { median } from "./table.ts";
import { pieces, piecesPerSecond, streamEnd, streamPrompt } from "./tui-model.ts";
import { lastWords, piSession } from "./tui-session.ts";

const isQuick = process.argv.includes("--quick");
const rounds = isQuick ? 1 : 5;
const blocks = 5_000;

type Figures = {
  firstRowsMs: number;
  rows: number;
  heapMb: number;
  scrollMedianMs: number;
  scrollLate: number;
  streamMedianMs: number;
  streamLongestMs: number;
  streamLate: number;
  heapAfterMb: number;
};

const results: Figures[] = [];
for (let round = 0; round < rounds; round += 1) results.push(await measure());
const report = text();
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "WEB.md"), report);

async function measure(): Promise<Figures> {
  const model = Bun.spawn([process.execPath, join(import.meta.dir, "tui-model.ts")], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const url = await firstLine(model.stdout);
  using skein = temporaryHome(vendorEnv(url));
  await Bun.write(join(skein.root, "session.jsonl"), piSession(blocks, skein.project));
  await run(skein, ["import", join(skein.root, "session.jsonl")]);
  try {
    await using page = await openBrowser();
    const { login_url } = (await run(skein, ["web", "--json"])).json() as { login_url: string };
    await page.open(login_url);
    await page.until("document.querySelector('.session-row a')");
    return { ...(await openSession(page)), ...(await scroll(page)), ...(await stream(page)) };
  } finally {
    await skein.run(["hub", "stop", "--wait", "0"]);
    await model.stdin.end();
    await model.exited;
  }
}

/** From the click on the session to the first frame with its last block. The connection is open before. */
async function openSession(page: Page): Promise<Pick<Figures, "firstRowsMs" | "rows" | "heapMb">> {
  const firstRowsMs = await page.evaluate<number>(`new Promise((done) => {
    const started = performance.now();
    document.querySelector(".session-row a").click();
    const look = () => document.querySelector(".scroller")?.textContent.includes(${JSON.stringify(lastWords)}) ? done(performance.now() - started) : requestAnimationFrame(look);
    look();
  })`);
  return { firstRowsMs, rows: await page.evaluate("document.querySelectorAll('.row-box').length"), heapMb: await heapMb(page) };
}

/** 300 frames, each 300 pixels further back. */
async function scroll(page: Page): Promise<Pick<Figures, "scrollMedianMs" | "scrollLate">> {
  const frames = await page.evaluate<number[]>(`(async () => {
    const scroller = document.querySelector(".scroller");
    const frames = [];
    for (let last = await new Promise(requestAnimationFrame); frames.length < 300;) {
      scroller.scrollTop -= 300;
      const now = await new Promise(requestAnimationFrame);
      frames.push(now - last);
      last = now;
    }
    scroller.scrollTop = scroller.scrollHeight;
    return frames;
  })()`);
  return { scrollMedianMs: median(frames), scrollLate: late(frames) };
}

async function stream(page: Page): Promise<Pick<Figures, "streamMedianMs" | "streamLongestMs" | "streamLate" | "heapAfterMb">> {
  await fill(page, "[aria-label=agent]", "native");
  await fill(page, "[aria-label=model]", wireModels.anthropic);
  await fill(page, "textarea", streamPrompt);
  await page.evaluate(`(async () => {
    window.frames5000 = [];
    for (let last = await new Promise(requestAnimationFrame); ;) {
      const now = await new Promise(requestAnimationFrame);
      window.frames5000.push(now - last);
      last = now;
    }
  })(), 0`);
  await page.press("Enter");
  await page.until(`document.querySelector(".scroller").textContent.includes(${JSON.stringify(streamEnd)})`);
  const frames = await page.evaluate<number[]>("window.frames5000");
  return {
    streamMedianMs: median(frames),
    streamLongestMs: Math.max(...frames),
    streamLate: late(frames),
    heapAfterMb: await heapMb(page),
  };
}

async function fill(page: Page, field: string, value: string): Promise<void> {
  await page.evaluate(`document.querySelector(${JSON.stringify(field)}).focus()`);
  await page.type(value);
}

function late(frames: number[]): number {
  return frames.filter((ms) => ms > 32).length;
}

async function heapMb(page: Page): Promise<number> {
  return (await page.evaluate<number>("performance.memory.usedJSHeapSize")) / 1e6;
}

async function run(skein: TemporaryHome, args: string[]) {
  const ran = await skein.run(args);
  if (ran.code !== 0) throw new Error(`${[...skeinCommand(), ...args].join(" ")}: ${ran.err}`);
  return ran;
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let printed = "";
  for await (const chunk of stream) {
    printed += new TextDecoder().decode(chunk);
    if (printed.includes("\n")) break;
  }
  return printed.split("\n", 1)[0]!;
}

function text(): string {
  const of = (field: keyof Figures) => median(results.map((figures) => figures[field]));
  const worst = (field: keyof Figures) => Math.max(...results.map((figures) => figures[field]));
  const load = loadavg()
    .map((value) => value.toFixed(1))
    .join(" ");
  return `# The web page with ${blocks.toLocaleString("en")} blocks

${new Date().toISOString().slice(0, 10)}, \`npm run bench:web\`; Bun ${Bun.version}, Linux ${release().split("-")[0]}, ${cpus().length} cores, load ${load} at the end.

A headless Chromium without a graphics processor opens the page, then a session with ${blocks.toLocaleString("en")} imported blocks. It scrolls back for 300 frames of 300 pixels. Then a message is sent, and a model on this machine answers in ${pieces.toLocaleString("en")} pieces, ${piecesPerSecond} a second. Browser, hub and model share the processors. Medians of ${rounds} runs, and the worst of them.

| | median | worst |
|---|---:|---:|
| click → the end of the conversation is shown, ms | ${of("firstRowsMs").toFixed(0)} | ${worst("firstRowsMs").toFixed(0)} |
| rows in the document then | ${of("rows")} | ${worst("rows")} |
| JavaScript heap then, MB | ${of("heapMb").toFixed(1)} | ${worst("heapMb").toFixed(1)} |
| scrolling: median frame, ms | ${of("scrollMedianMs").toFixed(1)} | ${worst("scrollMedianMs").toFixed(1)} |
| scrolling: frames over 32 ms, of 300 | ${of("scrollLate")} | ${worst("scrollLate")} |
| streaming: median frame, ms | ${of("streamMedianMs").toFixed(1)} | ${worst("streamMedianMs").toFixed(1)} |
| streaming: longest frame, ms | ${of("streamLongestMs").toFixed(1)} | ${worst("streamLongestMs").toFixed(1)} |
| streaming: frames over 32 ms | ${of("streamLate")} | ${worst("streamLate")} |
| JavaScript heap afterwards, MB | ${of("heapAfterMb").toFixed(1)} | ${worst("heapAfterMb").toFixed(1)} |
`;
}
