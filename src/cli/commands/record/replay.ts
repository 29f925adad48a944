// skein replay: plays a stored session again, in the terminal or as an animated SVG. It runs nothing: it prints stored
// events, with secrets removed as in `export --redact`.
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { envSecrets, redactDeep, redactor } from "../../../kit/text/redact.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Event } from "../../../protocol/tree/event.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { readHistory } from "../../attach/history.ts";
import { durationFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { recordPrinter } from "../../print/printer.ts";
import { printableLabel } from "../../print/session-label.ts";
import { sessionPrinter } from "../../print/session.ts";
import { scheduleEvents, type ScheduledEvent } from "./replay-schedule.ts";
import type { PrintedText } from "./replay-svg.ts";

/** A picture with more rows is too big for a page. */
const maxSvgRows = 5_000;
const svgSize = { columns: 80, rows: 24 };
const svgPauseMs = 2_000;

export const replay: Command = {
  name: "replay",
  summary: "play a session again as it was, in the terminal or as an animated picture",
  usage: "[session] [--speed n] [--max-pause time] [--svg file] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [
    { name: "speed", value: "n", summary: "n times as fast, such as 10 or 0.5 (default 1)" },
    { name: "max-pause", value: "time", summary: "cut longer pauses to this time (default: none is cut; 2s with --svg)" },
    { name: "svg", value: "file", summary: "write an animated SVG instead, readable by you only" },
    { name: "json", summary: "one event per line, at the same pace" },
  ],
  notes: `Keys, tokens, passwords, e-mail addresses and home directories are removed, as by
\`export --redact\`. Nothing is run or changed. An answer appears when it was complete.

  skein replay fix-tests --speed 20
  skein replay fix-tests --svg demo.svg --max-pause 1s`,
  async run(args, ctx) {
    const speed = parseSpeed(args);
    const svg = typeof args.flags["svg"] === "string" ? absolutePath(args.flags["svg"], ctx) : null;
    if (svg !== null && args.flags["json"] === true) throw new Fault("usage", "--svg and --json can't be combined");
    const maxPauseMs = durationFlag(args, "max-pause") ?? (svg === null ? null : svgPauseMs);
    const api = await ctx.api();
    const session = await findSession(api, ctx, args.positionals[0]);
    const { events } = await readHistory(api, session.id, null);
    if (events.length === 0) throw new Fault("usage", "nothing has happened in this session yet");
    const redact = redactor({ home: ctx.home, secrets: envSecrets(ctx.env) });
    const scheduled = scheduleEvents(redactEvents(events, redact), { speed, maxPauseMs });
    if (svg === null) return play(scheduled, args.flags["json"] === true, ctx);
    await writeSvg({ file: svg, session, ctx }, scheduled, redact(printableLabel(session)));
    return 0;
  },
};

function parseSpeed({ flags }: Args): number {
  const text = String(flags["speed"] ?? "1");
  const speed = /^\d{1,7}(\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (speed > 0) return speed;
  throw new Fault("usage", `--speed takes a number above 0, such as 10 or 0.5, not "${text}"`);
}

/** Opaque data of a vendor is removed too, because its content can't be checked. */
function redactEvents(events: readonly Event[], redact: (text: string) => string): Event[] {
  const plain = JSON.parse(JSON.stringify(events, (key, value: unknown) => (key === "opaque" ? undefined : value))) as Event[];
  return redactDeep(plain, redact);
}

/** Ctrl-C ends it with code 130. */
async function play(scheduled: readonly ScheduledEvent[], isJson: boolean, ctx: CommandContext): Promise<number> {
  const stop = new AbortController();
  ctx.onStop(() => stop.abort());
  const print = isJson ? recordPrinter(ctx) : sessionPrinter(ctx.out, { answers: "elsewhere" });
  const startedAt = performance.now();
  for (const { event, afterMs } of scheduled) {
    await waitUntil(startedAt + afterMs, stop.signal);
    if (stop.signal.aborted) return 130;
    print(event);
  }
  return 0;
}

/** The longest timer is 24.8 days. */
const maxWaitMs = 86_400_000;

async function waitUntil(at: number, signal: AbortSignal): Promise<void> {
  for (let left = at - performance.now(); left > 0 && !signal.aborted; left = at - performance.now()) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.min(left, maxWaitMs));
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    clearTimeout(timer);
  }
}

type SvgTarget = { file: string; session: Session; ctx: CommandContext };

async function writeSvg({ file, session, ctx }: SvgTarget, scheduled: readonly ScheduledEvent[], title: string): Promise<void> {
  const printed: PrintedText[] = [];
  let text = "";
  const print = sessionPrinter(
    { write: (more) => (text += more), isTty: false, columns: svgSize.columns, color: true },
    { answers: "elsewhere" },
  );
  for (const { event, afterMs } of scheduled) {
    print(event);
    if (text !== "") printed.push({ text, afterMs });
    text = "";
  }
  const rows = printed.reduce((sum, piece) => sum + piece.text.split("\n").length, 0);
  if (rows > maxSvgRows)
    throw new Fault("usage", `the session has about ${rows} rows of output, and an SVG at most ${maxSvgRows}`, {
      hint: "replay it in the terminal, or export it: skein export --format html --redact",
    });
  const { replaySvg } = await import("./replay-svg.ts");
  const { toolPlaces, writeFile } = await import("../tree/export.ts");
  await writeFile(file, [replaySvg(printed, { ...svgSize, title })], toolPlaces(ctx, session));
}
