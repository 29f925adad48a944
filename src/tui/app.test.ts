// The screen on OpenTUI's own test renderer: real keys in, real cells out, and an Api that plays what a test tells it.
import { expect, test } from "bun:test";
import { createTestRenderer, type TestRendererSetup } from "@opentui/core/testing";
import { createFeed } from "../kit/flow/feed.ts";
import { Fault } from "../protocol/api/error.ts";
import type { Turn } from "../protocol/tree/turn.ts";
import { canvasSurface } from "./terminal/canvas.ts";
import type { SurfaceOptions } from "./terminal/surface.ts";
import { runScreen, type ScreenOptions } from "./app.ts";
import { scriptedApi, session, type ScriptedApi } from "./fixtures/scripted-api.ts";

test("a typed message gets a streamed answer, and :quit ends the screen", async () => {
  const scripted = scriptedApi();
  await onScreen(scripted, null, async ({ mockInput, shows }) => {
    await shows((frame) => frame.includes("Type a message"));
    await mockInput.typeText("hello 日本 there");
    mockInput.pressEnter();
    await until(() => scripted.watchers() === 1);
    for (const text of ["Here is **a", " list**:\n- one", "\n- two"]) scripted.tell("s-new", { type: "text.delta", text });
    const frame = await shows((shown) => shown.includes("• two"));
    expect(frame).toContain("Here is a list:");
    expect(frame).not.toContain("**");
    mockInput.pressEscape();
    await shows((shown) => shown.includes("[NORMAL]"));
    await mockInput.typeText(":quit");
    mockInput.pressEnter();
  });
  expect([scripted.calls.map(({ row }) => row), scripted.watchers()]).toEqual([["session.open", "turn.start"], 0]);
});

test("a paste of several lines is one message, and wide characters keep their columns", async () => {
  await onScreen(scriptedApi(), null, async ({ mockInput, shows, resize }) => {
    await mockInput.pasteBracketedText("日本語 one\ntwo 👩‍👩‍👧 three");
    const frame = await shows((shown) => shown.includes("three"));
    expect(frame).toMatch(/> 日本語 one *\n {2}two/);
    resize(40, 10);
    await shows((shown) => shown.split("\n")[0]?.length === 40);
    leaveBy(mockInput);
  });
});

test("any unexpected error ends the screen with that error", async () => {
  const spoilt = scriptedApi();
  const told = onScreen(spoilt, "s-1", async () => {
    await until(() => spoilt.watchers() === 1);
    spoilt.tell("s-1", { type: "node.added" } as never);
  });
  expect(await failureOf(told)).toBeInstanceOf(TypeError);
  const missing = scriptedApi({ "session.show": () => Promise.reject(new Fault("session-unknown", "there is no session s-1")) });
  expect(await failureOf(onScreen(missing, "s-1", async () => {}))).toMatchObject({ code: "session-unknown" });
});

function failureOf(over: Promise<void>): Promise<unknown> {
  return over.then(
    () => null,
    (error: unknown) => error,
  );
}

test("output of the old branch does not appear in the new one, and its feed is closed", async () => {
  const scripted = scriptedApi();
  await onScreen(scripted, "s-old", async ({ mockInput, shows }) => {
    await until(() => scripted.watchers() === 1);
    scripted.tell("s-old", { type: "turn.started", turn: { parent: null, enforced: null } as Turn, session: session("s-old") });
    scripted.tell("s-old", { type: "text.delta", text: "old words" });
    await shows((frame) => frame.includes("old words"));
    scripted.tell("s-old", { type: "text.delta", text: "held back" }); // it would be shown 50 ms later
    mockInput.pressKey(" ");
    mockInput.pressKey("c");
    await shows((frame) => frame.includes("Type a message"));
    scripted.tell("s-old", { type: "text.delta", text: "late words" });
    scripted.tell("s-fork", { type: "text.delta", text: "new words" });
    const frame = await shows((shown) => shown.includes("new words"));
    expect(frame).not.toMatch(/old words|held back|late words/);
    expect(scripted.watchers()).toBe(1);
    leaveBy(mockInput);
  });
});

test("a turn of another process is shown live, can be steered, and is not stopped by Ctrl+C", async () => {
  const turn = { id: "t-1", parent: null, enforced: null } as Turn;
  const scripted = scriptedApi({ "turn.list": async () => [{ session: session("s-1"), turn, state: "running", pid: 4242 }] });
  await onScreen(scripted, "s-1", async ({ mockInput, shows }) => {
    await until(() => scripted.watchers() === 1);
    scripted.tell("s-1", { type: "turn.started", turn, session: session("s-1") });
    await shows((frame) => frame.includes("[waiting, pid 4242]"));
    await mockInput.typeText("style here");
    mockInput.pressEnter();
    await until(() => scripted.calls.some(({ row }) => row === "turn.steer"));
    mockInput.pressCtrlC();
    await shows((frame) => frame.includes("runs in another process (pid 4242): Ctrl+C again quits, :cancel stops it"));
    mockInput.pressCtrlC();
  });
  expect(scripted.calls).toEqual([{ row: "turn.steer", params: { session: "s-1", text: "style here" } }]);
});

test("sub-sessions are followed with their parent, also after a late start, and their questions are shown", async () => {
  const child = { ...session("s-below"), parentSession: "s-1", task: "count the files" };
  const row = { session: child, turn: { id: "t-2", startedAt: 0 } as Turn, state: "running", pid: 4242 };
  const scripted = scriptedApi({ "turn.list": async () => [row] });
  scripted.stand("s-1", { open: { turn: "t-1", state: "running", pid: 4242, drafts: [] } });
  await onScreen(scripted, "s-1", async ({ mockInput, shows }) => {
    await shows((frame) => /count the files[^]*\[[\w-]+, pid 4242\]/.test(frame));
    await until(() => scripted.watchers() === 2);
    const ask = { id: "a-1", session: "s-below", question: "Which colour?", options: [], closedAt: null } as never;
    scripted.tell("s-below", { type: "ask.opened", ask });
    await shows((frame) => frame.includes("Which colour?"));
    scripted.tell("s-below", { type: "ask.closed", ask });
    await shows((frame) => !frame.includes("Which colour?"));
    leaveBy(mockInput);
  });
  expect(scripted.watchers()).toBe(0);
});

test("events are shown even if the list of turns can't be read", async () => {
  const scripted = scriptedApi({ "turn.list": () => Promise.reject(new Fault("store-broken", "the store can't be read")) });
  await onScreen(scripted, "s-1", async ({ mockInput, shows }) => {
    await until(() => scripted.watchers() === 1);
    scripted.tell("s-1", { type: "turn.started", turn: { parent: null, enforced: null } as Turn, session: session("s-1") });
    await shows((frame) => /the store can't be read[^]*\[waiting\]/.test(frame));
    leaveBy(mockInput);
  });
});

test("a turn that can't start returns its message to the prompt", async () => {
  const busy = () => {
    const feed = createFeed();
    feed.fail(new Fault("session-busy", "Session s-1 is in use by process 7."));
    return feed;
  };
  const scripted = scriptedApi({ "turn.start": busy });
  await onScreen(scripted, "s-1", async ({ mockInput, shows }) => {
    await mockInput.typeText("mine");
    mockInput.pressEnter();
    await shows((frame) => /in use by process 7[^]*> mine *\n\[INSERT\] \[idle\]/.test(frame));
    leaveBy(mockInput);
  });
});

test("a lost hub is reported and found again, and later changes are shown", async () => {
  const scripted = scriptedApi();
  let isThere = false;
  const reach = async () => {
    if (!isThere) throw new Fault("hub-unreachable", "no hub runs");
    return scripted.api;
  };
  await onScreen(
    scripted,
    "s-1",
    async ({ mockInput, shows }) => {
      await until(() => scripted.watchers() === 1);
      scripted.lose(new Fault("connection-lost", "the connection was closed"));
      await shows((frame) => frame.includes("connection to the hub lost"));
      scripted.stand("s-1", { open: { turn: "t-1", state: "interrupted", pid: null, drafts: [{ key: "text", text: "half an ans" }] } });
      isThere = true;
      await until(() => scripted.watchers() === 1);
      await shows((frame) => /half an ans[^]*interrupted: Enter continues the turn/.test(frame));
      mockInput.pressEnter();
      await until(() => scripted.calls.length === 1);
      leaveBy(mockInput);
    },
    reach,
  );
  expect(scripted.calls[0]).toMatchObject({ row: "turn.start", params: { session: "s-1", prompt: null } });
});

async function onScreen(
  { api }: ScriptedApi,
  shown: string | null,
  walk: (setup: TestRendererSetup & { shows: Shows }) => Promise<void>,
  reach: ScreenOptions["connectHub"] = null,
): Promise<void> {
  await using setup = await createTestRenderer({ width: 80, height: 24, exitOnCtrlC: false, kittyKeyboard: true });
  const parts = {
    api,
    directory: "/",
    project: "/",
    home: "/",
    turn: { policy: { net: "off", sandbox: "auto" } },
    open: {},
    session: shown === null ? null : session(shown),
    connectHub: reach,
    color: true,
    bindings: {},
    local: {
      history: { entries: [], add: () => {} },
      unsent: { claim: () => null, save: () => {}, problem: () => null },
      readImage: () => ({ mime: "image/png", base64: "" }),
    },
    notify: () => {},
    setTitle: () => {},
    copy: () => true,
    surface: (of: SurfaceOptions) => canvasSurface(setup.renderer, of),
    running: new Map(),
    onSession: () => {},
    onStop: () => {},
  } as unknown as ScreenOptions;
  const over = runScreen(parts, setup.renderer);
  const shows: Shows = async (isIt) => {
    for (;;) {
      await setup.waitForVisualIdle();
      const frame = setup.captureCharFrame();
      if (isIt(frame)) return frame;
      await Bun.sleep(5);
    }
  };
  await walk({ ...setup, shows });
  await over;
}

/** The frame, as soon as it is the wanted one. */
type Shows = (isIt: (frame: string) => boolean) => Promise<string>;

function leaveBy({ pressCtrlC }: TestRendererSetup["mockInput"]): void {
  pressCtrlC();
  pressCtrlC();
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(5);
}
