// Measures one frame of skein's TUI inside its process: computing the next state, rendering it and drawing its cells on
// OpenTUI's renderer without a terminal. At the pace of the program, and without pauses, which is the worst case.
// `bun bench/tui-frames.ts` prints only the table.
import { loadavg } from "node:os";
import { createTestRenderer } from "@opentui/core/testing";
import type { Event } from "../src/protocol/tree/event.ts";
import type { Node } from "../src/protocol/tree/node.ts";
import type { Session } from "../src/protocol/tree/turn.ts";
import { blocksOfPath, type Block } from "../src/tui/model/blocks.ts";
import { Canvas } from "../src/tui/terminal/canvas.ts";
import { firstState, type UpdateMessage } from "../src/tui/model/state.ts";
import { update } from "../src/tui/model/update.ts";
import { renderFrame } from "../src/tui/views/screen.ts";
import { pieceAt, pieces, piecesPerSecond } from "./tui-model.ts";
import { size } from "./tui-pty.ts";
import { nodesOf } from "./tui-session.ts";

/** Elapsed time, and the CPU time of the thread in it. The rest is time of other programs. */
export type Frame = { ms: number; cpuMs: number };
export type Frames = { what: string; frames: Frame[] }[];

export async function measureFrames(blocks: number): Promise<Frames> {
  const session = { id: "s", name: "bench", tip: null, agent: "native", model: null } as Session;
  let state = firstState({ size: { columns: size.cols, rows: size.rows }, net: "off", sandbox: "on" });
  await using setup = await createTestRenderer({ width: size.cols, height: size.rows, nativeSceneVerify: false });
  const { renderer } = setup;
  const canvas = new Canvas(renderer, { color: true, renderFrame: () => renderFrame(state), drawImages: () => {}, onMouse: () => {} });
  renderer.root.add(canvas);
  let problem: unknown = null;
  renderer.on("render:error", ({ error }: { error: unknown }) => (problem = error));
  const frame = async (...messages: UpdateMessage[]): Promise<Frame> => {
    const from = performance.now();
    const cpuFrom = threadCpuMs();
    for (const message of messages) state = update(state, message).state;
    canvas.requestRender();
    await setup.renderOnce();
    if (problem !== null) throw problem;
    return { ms: performance.now() - from, cpuMs: threadCpuMs() - cpuFrom };
  };
  const empty = await frame();
  const { blocks: allBlocks, pieces: slices } = makeBlocks(nodesOf(blocks) as Node[]);
  const opened = await frame({ type: "opened", session, blocks: allBlocks, turns: [] });
  const paced = await atPace((n) => frame({ type: "event", event: delta(n, piecesPerFrame) }));
  const streamed: Frame[] = [];
  for (let n = 0; n < pieces; n += 1) streamed.push(await frame({ type: "event", event: delta(n) }));
  const scrolled: Frame[] = [];
  for (let times = 0; times < 500; times += 1) scrolled.push(await frame({ type: "wheel", rows: -3 }));
  return [
    { what: "the first, of an empty screen", frames: [empty] },
    { what: `each piece of making ${blocks.toLocaleString("en-US")} blocks (no frame; keys are read after it)`, frames: slices },
    { what: `showing ${blocks.toLocaleString("en-US")} blocks`, frames: [opened] },
    { what: `a stream of ${pieces.toLocaleString("en-US")} pieces at the pace of the program`, frames: paced },
    { what: `each of ${pieces.toLocaleString("en-US")} pieces separately, without a pause`, frames: streamed },
    { what: "each of 500 steps back through the transcript", frames: scrolled },
  ];
}

const framesPerSecond = 10;
const piecesPerFrame = piecesPerSecond / framesPerSecond;

/** Draws all pieces since the previous frame in one frame, as `coalesce` does. */
async function atPace(draw: (from: number) => Promise<Frame>): Promise<Frame[]> {
  const frames: Frame[] = [];
  const startedAt = performance.now();
  for (let n = 0; n < pieces; n += piecesPerFrame) {
    await Bun.sleep(startedAt + frames.length * (1000 / framesPerSecond) - performance.now());
    frames.push(await draw(n));
  }
  return frames;
}

/** As when a session is opened. */
function makeBlocks(nodes: readonly Node[]): { blocks: Block[]; pieces: Frame[] } {
  const work = blocksOfPath({ nodes, turns: [], spawned: [] });
  const pieces: Frame[] = [];
  for (;;) {
    const [from, cpuFrom] = [performance.now(), threadCpuMs()];
    const { done, value } = work.next();
    pieces.push({ ms: performance.now() - from, cpuMs: threadCpuMs() - cpuFrom });
    if (done === true) return { blocks: value, pieces };
  }
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function delta(n: number, count = 1): Event {
  const text = Array.from({ length: count }, (_, index) => pieceAt(n + index)).join("");
  return { seq: 1, n, sessionId: "s", turnId: "t", at: 0, type: "text.delta", text };
}

export function framesTable(measured: Frames): string {
  const rows = measured.map(({ what, frames }) => {
    const cells = [frames.map(({ ms }) => ms), frames.map(({ cpuMs }) => cpuMs)].flatMap((all) =>
      [0.5, 0.99, 1].map((share) => quantile(all, share)),
    );
    return `| ${what} | ${cells.join(" | ")} | ${frames.filter(({ ms }) => ms > 16).length} |`;
  });
  return `| a frame for | p50 | p99 | max | CPU p50 | CPU p99 | CPU max | over 16 ms |
|---|---:|---:|---:|---:|---:|---:|---:|
${rows.join("\n")}`;
}

function quantile(values: number[], share: number): string {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!.toFixed(2);
}

if (import.meta.main) {
  console.log(framesTable(await measureFrames(10_000)));
  console.log(`load ${loadavg()[0]!.toFixed(1)}`);
}
