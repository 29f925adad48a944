// Sends a thousand messages among twenty members while the process that delivers them is killed again and again.
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dropFile, newDropId } from "../../src/kit/files/drop-file.ts";
import { parseSentMessage } from "../../src/protocol/team/read-mail.ts";
import { mailIdOf, type MailEvent } from "../../src/agents/team/mail/classify-mail.ts";
import { memberOf } from "../../src/agents/team/fixtures/mail-process.ts";

const members = 20;
const messages = 1000;
const kills = 25;

/** A random generator with a seed, so that a failure can be repeated. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

type Expected = { id: string; from: number; to: number[]; text: string };

/** Drops a message to one, several, all or unknown members, a report, or mail that is refused. */
function dropMail(directory: string, n: number, random: (below: number) => number): Expected & { kind: "sent" | "report" | "refused" } {
  const from = random(members);
  const others = Array.from({ length: members }, (_, index) => index).filter((index) => index !== from);
  const several = others.filter((index) => index % 3 === n % 3);
  const to = n % 50 === 0 ? others : n % 50 === 1 ? [] : n % 20 === 2 ? several : [others[random(others.length)]!];
  const id = newDropId();
  const text = `message ${n}`;
  const names = to.length === others.length ? "all" : to.length === 0 ? "nobody" : to.map((index) => `m${index}`);
  const [kind, value] =
    n % 50 === 13
      ? (["report", { type: "status", message: text }] as const)
      : n % 50 === 27
        ? (["refused", { from: "person", to: "all", body: text }] as const)
        : (["sent", { to: names, body: text }] as const);
  dropFile(join(directory, "mail", memberOf(directory, from).id, "outbox"), id, JSON.stringify(value));
  return { id, from, to: kind === "sent" ? to : [], text, kind };
}

/** Kills itself after this many steps; 0 is never. */
function startMail(directory: string, steps: number) {
  const program = join(import.meta.dir, "../../src/agents/team/fixtures/mail-process.ts");
  const child = Bun.spawn([process.execPath, program, directory, String(members), String(steps)], {
    stdout: "pipe",
    stderr: "inherit",
    env: { PATH: process.env["PATH"] ?? "" },
  });
  return { child, opened: child.stdout.getReader().read() };
}

/** Runs the mail once while more is sent, and kills it at work, while it opens, or when it is idle. */
async function runAndKill(directory: string, random: (below: number) => number, send: () => void): Promise<void> {
  const { child, opened } = startMail(directory, random(4) === 0 ? 0 : 1 + random(250));
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

/** The messages of an inbox in the order of their names, without notices of skein. */
function inboxOf(directory: string, n: number) {
  const { id } = memberOf(directory, n);
  const inbox = join(directory, "mail", id, "inbox", id);
  const names = readdirSync(inbox).toSorted();
  expect(names.filter((name) => !name.endsWith(".json"))).toEqual([]);
  return names.map((name) => parseSentMessage(JSON.parse(readFileSync(join(inbox, name), "utf8")))!).filter(({ from }) => from !== "skein");
}

test("each of a thousand messages is delivered once and in order, or refused, though the mail is killed at random", async () => {
  const directory = mkdtempSync(join(tmpdir(), "skein-mail-kills-"));
  mkdirSync(join(directory, "given"));
  mkdirSync(join(directory, "work"));
  const random = createRandom(20_261_116);
  for (const n of Array(members).keys()) mkdirSync(join(directory, "mail", memberOf(directory, n).id, "outbox"), { recursive: true });
  const dropped: ReturnType<typeof dropMail>[] = [];
  const send = (): void => {
    for (const until = Math.min(messages, dropped.length + messages / kills / 2); dropped.length < until;)
      dropped.push(dropMail(directory, dropped.length, random));
  };
  for (let killed = 0; killed < kills; killed++) await runAndKill(directory, random, send);
  const last = startMail(directory, 0);
  await last.opened;
  last.child.kill("SIGTERM");
  expect(await last.child.exited).toBe(0);
  expect(dropped).toHaveLength(messages);
  for (let to = 0; to < members; to++) {
    const arrived = inboxOf(directory, to);
    const expected = dropped.filter((mail) => mail.to.includes(to));
    expect(arrived.map(({ id }) => id).toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
    for (let from = 0; from < members; from++) {
      const texts = arrived.filter((sent) => sent.from === memberOf(directory, from).id).map(({ body }) => body);
      expect(texts).toEqual(expected.filter((mail) => mail.from === from).map(({ text }) => text));
    }
  }
  expectRecorded(directory, dropped);
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

/** Every event was recorded exactly once, and every running member got its messages. */
function expectRecorded(directory: string, dropped: ReturnType<typeof dropMail>[]): void {
  const events = readFileSync(join(directory, "recorded.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as MailEvent);
  expect(events.map(mailIdOf).toSorted()).toEqual(dropped.map(({ id }) => id).toSorted());
  const kinds = { message_sent: "sent", agent_reported: "report", artifact_created: "report", message_refused: "refused" } as const;
  for (const event of events) {
    expect(kinds[event.event]).toBe(dropped.find(({ id }) => id === mailIdOf(event))!.kind);
    if (event.event === "message_sent") expect(event.message.delivered.length + event.message.undelivered.length).toBeGreaterThan(0);
  }
  const isRunning = (n: number) => n % 10 !== 7;
  const sent = dropped.filter(({ kind }) => kind === "sent");
  const expected = sent.flatMap(({ id, to }) => to.filter(isRunning).map((index) => `${memberOf(directory, index).id}-${id}`));
  const given = readdirSync(join(directory, "given")).filter((name) => !name.includes("-n"));
  expect(given.toSorted()).toEqual(expected.toSorted());
}
