// Tests of the sessions panel: keys, its search while typing, and its layout at several sizes.
import { describe, expect, test } from "bun:test";
import type { FoundNode } from "../../protocol/tree/views.ts";
import { viKeys, apply, effectsOf, badRows, nodeOf, press, sampleSession, textOf } from "../fixtures/press-keys.ts";
import { firstState, type UpdateMessage, type State } from "../model/state.ts";

const size = { columns: 80, rows: 24 };
const ours = sampleSession("ours", { task: "fix the build", tip: "n1" });
const parser = sampleSession("parser", { task: "write a parser", tip: "n2" });
const elsewhere = sampleSession("elsewhere", { project: "/other", directory: "/other/src" });
const old = sampleSession("old", { archivedAt: 1, tip: "n3" });
const normal: State = { ...firstState({ bindings: viKeys, size, net: "off", sandbox: "on" }), mode: "normal", session: ours };

function listed(sessions = [ours, parser], reading = 0): UpdateMessage {
  return { type: "sessions", message: { type: "listed", reading, sessions, project: "/project", now: 7_200_000 } };
}
function searchResult(query: string, ...sessions: (typeof ours)[]): UpdateMessage {
  const snippet = "where the lexer\nends";
  const hits = sessions.map((session): FoundNode => ({
    node: nodeOf("n", null, "user", snippet),
    session,
    snippet,
    marks: [[10, 15]],
    rank: 1,
    before: null,
    after: null,
  }));
  return { type: "sessions", message: { type: "found", query, hits } };
}
const opened = press(normal, "space", "s");
const open = apply(opened.state, listed());

describe("the sessions panel", () => {
  test("the sessions panel lists sessions with the last messages of the chosen one", () => {
    expect(opened.effects).toContainEqual({ type: "list sessions", reading: 0, withArchived: false, everywhere: false });
    const messages = [nodeOf("n0", null, "user", "why is it red?"), nodeOf("n1", "n0", "agent", "A test fails.")];
    const previewed = apply(open, { type: "sessions", message: { type: "previewed", key: "ours n1", messages } });
    expect(textOf(previewed)).toMatch(
      /sessions: 2[^]*│ ← ours +2 hours ago +fix the build[^]*parser[^]*│ ▌ why is it red\? +│\n│ ● A test fails\./,
    );
    expect(textOf({ ...previewed, size: { columns: 200, rows: 60 } })).toMatch(/fix the build +│ ours · native · used 2 hours ago/);
    for (const columns of [44, 80, 120, 200])
      for (const rows of [8, 24, 60]) expect(badRows({ ...previewed, size: { columns, rows } })).toEqual([]);
  });
  test("a session is shown by the message of its latest turn, because branches share the first one", () => {
    const fork = sampleSession("fork", { task: "fix the build", latestPrompt: "now the docs", tip: "n9" });
    const both = apply(opened.state, listed([ours, fork]));
    expect(textOf(both)).toMatch(/ours +2 hours ago +fix the build +│\n│ {3}fork +2 hours ago +now the docs/);
    expect(textOf(press(both, ...Array.from("docs")).state)).toMatch(/sessions: 1[^]*fork/);
  });
  test("the time of last use and the task are separate columns, however long the time is", () => {
    const minutes = {
      ...listed(),
      message: { ...(listed() as Extract<UpdateMessage, { type: "sessions" }>).message, now: 59 * 60_000 },
    } as UpdateMessage;
    expect(textOf(apply(opened.state, minutes))).toMatch(/ 59 minutes ago {2}fix the build/);
  });
  test("sessions are previewed one at a time, however fast the user moves", () => {
    expect(effectsOf(opened.state, "x")).toEqual([]);
    expect(open.overlay).toMatchObject({ previewing: "ours n1" });
    expect(effectsOf(open, "down", "up", "down")).toEqual([]);
    const moved = press(open, "down").state;
    const next = apply(moved, { type: "sessions", message: { type: "previewed", key: "ours n1", messages: [] } });
    expect(next.overlay).toMatchObject({ previewing: "parser n2" });
  });
  test("sessions are found by name and task, and by messages from three letters on", () => {
    const typed = press(open, ...Array.from("lex"));
    expect(typed.effects).toEqual([{ type: "search sessions", query: "lex", everywhere: false }]);
    expect(effectsOf(typed.state, "e", "r")).toEqual([]);
    const more = press(typed.state, "e", "r").state;
    expect(apply(more, searchResult("lex")).overlay).toMatchObject({ searching: "lexer" });
    const hit = apply(more, searchResult("lexer", parser, parser));
    expect(textOf(hit)).toMatch(/sessions: 1[^]*│ {3}parser +2 hours ago +where the lexer ends/);
    expect(textOf(apply(more, searchResult("lexer")))).toContain("no name, task or message matches");
    expect(textOf(press(open, "P", "A", "R").state)).toMatch(/parser +2 hours ago +write a parser/);
    expect(textOf(apply(press(open, "x").state, { type: "paste", text: "y\nz" }))).toContain("find > xy z");
  });
  test("Enter goes to a session, restores an archived one, and shows a command for another project", () => {
    expect(effectsOf(open, "down", "enter")).toContainEqual({ type: "go", session: "parser", node: null });
    expect(press(open, "enter").state.overlay).toBeNull();
    expect(effectsOf(open, "tab")).toEqual([{ type: "list sessions", reading: 1, withArchived: true, everywhere: false }]);
    const withAll = apply(press(open, "tab", "ctrl+t").state, listed([ours, elsewhere, old], 2));
    expect(textOf(withAll)).toMatch(/sessions of all projects, with archived: 3[^]*elsewhere +\S+ \S+ ago +other[^]*× old/);
    expect(press(withAll, "down", "enter").state.notice?.text).toBe(
      "that session is in another project: cd /other/src && skein -r lsewhere",
    );
    expect(effectsOf(withAll, "down", "down", "enter")).toContainEqual({ type: "go", session: "old", node: null });
    expect(apply(withAll, listed([], 0))).toBe(withAll);
  });
  test("the sessions panel says that it is empty, and that it loads only if that takes long", () => {
    expect(textOf(apply(opened.state, listed([])))).toContain("no sessions yet; the first message creates one");
    expect([
      textOf(opened.state).includes("loading…"),
      textOf(apply(opened.state, { type: "tick", now: 150 })).includes("loading…"),
    ]).toEqual([false, true]);
    expect(press(open, "escape").state.overlay).toBeNull();
  });
});

describe(":switch and :rename", () => {
  const typed = (text: string) => press(normal, ":", ...Array.from(text).map((letter) => (letter === " " ? "space" : letter)), "enter");
  test(":switch and :rename run at once, and report a missing argument", () => {
    expect(typed("switch parser").effects).toEqual([{ type: "switch", query: "parser" }]);
    expect(typed("rename a b").effects).toEqual([{ type: "rename", name: "a b" }]);
    expect([typed("switch").state.notice?.isError, typed("rename").state.notice?.isError]).toEqual([true, true]);
  });
});
