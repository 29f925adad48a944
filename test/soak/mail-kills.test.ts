// A thousand messages among twenty members while the process that routes them is killed again and again.
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dropFile, newDropId } from "../../src/kit/files/drop-file.ts";
import { parseSentMessage } from "../../src/protocol/team/read-mail.ts";
import { memberOf } from "../../src/agents/team/fixtures/mail-process.ts";

const members = 20;
const messages = 1000;
const kills = 25;

/** The same numbers for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

type Expected = { id: string; from: number; to: number[]; text: string };

/** One of: a message to one, to several, to all, to nobody; a report; one that is refused. */
function leaveOne(directory: string, n: number, random: (below: number) => number): Expected & { kind: "sent" | "report" | "refused" } {
  const from = random(members);
  const others = Array.from({ length: members }, (_, one) => one).filter((one) => one !== from);
  const several = others.filter((one) => one % 3 === n % 3);
  const to = n % 50 === 0 ? others : n % 50 === 1 ? [] : n % 20 === 2 ? several : [others[random(others.length)]!];
  const id = newDropId();
  const text = `message ${n}`;
  const names = to.length === others.length ? "all" : to.length === 0 ? "nobody" : to.map((one) => `m${one}`);
  const [kind, value] =
    n % 50 === 13
      ? (["report", { type: "status", message: text }] as const)
      : n % 50 === 27
        ? (["refused", { from: "person", to: "all", body: text }] as const)
        : (["sent", { to: names, body: text }] as const);
  dropFile(join(directory, "mail", memberOf(directory, from).id, "outbox"), id, JSON.stringify(value));
  return { id, from, to: kind === "sent" ? to : [], text, kind };
}

/** It kills itself after so many moments; with 0 it does not. */
function startRouter(directory: string, moments: number) {
  const program = join(import.meta.dir, "../../src/agents/team/fixtures/mail-process.ts");
  const child = Bun.spawn([process.execPath, program, directory, String(members), String(moments)], {
    stdout: "pipe",
    stderr: "inherit",
    env: { PATH: process.env["PATH"] ?? "" },
  });
  return { child, opened: child.stdout.getReader().read() };
}

/** One life of the router, while more is sent: it ends in the middle of its work, while it opens, or when it has nothing to do. */
async function liveOnce(directory: string, random: (below: number) => number, send: () => void): Promise<void> {
  const { child, opened } = startRouter(directory, random(4) === 0 ? 0 : 1 + random(250));
  try {
    send();
    if (random(4) > 0) await Promise.race([opened, child.exited]);
    send();
    await Promise.race([child.exited, Bun.sleep(random(120))]);
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
}

/** What lies in an inbox, in the order of its names, without what skein itself told. */
function inboxOf(directory: string, n: number) {
  const { id } = memberOf(directory, n);
  const place = join(directory, "mail", id, "inbox", id);
  const names = readdirSync(place).toSorted();
  expect(names.filter((name) => !name.endsWith(".json"))).toEqual([]);
  return names.map((name) => parseSentMessage(JSON.parse(readFileSync(join(place, name), "utf8")))!).filter(({ from }) => from !== "skein");
}

test("a thousand messages among twenty members and kill -9 at random: each arrives once, in order, or is told", async () => {
  const directory = mkdtempSync(join(tmpdir(), "skein-storm-"));
  mkdirSync(join(directory, "noted"));
  mkdirSync(join(directory, "work"));
  const random = randomOf(20_261_116);
  for (const n of Array(members).keys()) mkdirSync(join(directory, "mail", memberOf(directory, n).id, "outbox"), { recursive: true });
  const left: ReturnType<typeof leaveOne>[] = [];
  const send = (): void => {
    for (const until = Math.min(messages, left.length + messages / kills / 2); left.length < until;)
      left.push(leaveOne(directory, left.length, random));
  };
  for (let killed = 0; killed < kills; killed++) await liveOnce(directory, random, send);
  const last = startRouter(directory, 0);
  await last.opened;
  last.child.kill("SIGTERM");
  expect(await last.child.exited).toBe(0);
  expect(left).toHaveLength(messages);
  for (let to = 0; to < members; to++) {
    const arrived = inboxOf(directory, to);
    const expected = left.filter((one) => one.to.includes(to));
    expect(arrived.map(({ id }) => id).toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
    for (let from = 0; from < members; from++) {
      const texts = arrived.filter((sent) => sent.from === memberOf(directory, from).id).map(({ body }) => body);
      expect(texts).toEqual(expected.filter((one) => one.from === from).map(({ text }) => text));
    }
  }
  const logged = readFileSync(join(directory, "traffic.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: string; delivered?: string[]; undelivered?: object[] });
  expect(logged.map(({ id }) => id).toSorted()).toEqual(left.map(({ id }) => id).toSorted());
  for (const { delivered, undelivered } of logged)
    expect(delivered === undefined || delivered.length > 0 || undelivered!.length > 0).toBe(true);
  expectNoted(directory, left);
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

/** Everything was told to the team exactly once, and given to whoever runs. */
function expectNoted(directory: string, left: ReturnType<typeof leaveOne>[]): void {
  const noted = readdirSync(join(directory, "noted"));
  const of = (kind: string) => noted.filter((name) => name.startsWith(`${kind}-`)).length;
  const sent = left.filter(({ kind }) => kind === "sent");
  expect([of("message"), of("report"), of("refused")]).toEqual([
    sent.length,
    left.filter(({ kind }) => kind === "report").length,
    left.filter(({ kind }) => kind === "refused").length,
  ]);
  const runs = (n: number) => n % 10 !== 7;
  const given = sent.flatMap(({ id, to }) => to.filter(runs).map((one) => `given-${memberOf(directory, one).id}-${id}`));
  expect(noted.filter((name) => name.startsWith("given-") && !name.includes("-n")).toSorted()).toEqual(given.toSorted());
}
