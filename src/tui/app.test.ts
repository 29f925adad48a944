// Tests of the screen on OpenTUI's test renderer, with real keys, real cells and a scripted Api.
import { expect, test } from "bun:test";
import { createTestRenderer, type TestRendererSetup } from "@opentui/core/testing";
import { createFeed } from "../kit/flow/feed.ts";
import { Fault } from "../protocol/api/error.ts";
import type { Turn } from "../protocol/tree/turn.ts";
import { canvasSurface } from "./terminal/canvas.ts";
import type { SurfaceOptions } from "./terminal/surface.ts";
import { runScreen, type ScreenOptions } from "./app.ts";
import { nodeOf, viKeys } from "./fixtures/press-keys.ts";
import { scriptedApi, session, type ScriptedApi } from "./fixtures/scripted-api.ts";

test("a typed message gets a streamed answer, and :quit ends the screen", async () => {
  const scripted = scriptedApi();
  await onScreen(scripted, null, async ({ mockInput, frameWhere }) => {
    await frameWhere((frame) => frame.includes("Type a message"));
    await mockInput.typeText("hello 日本 there");
    mockInput.pressEnter();
    await until(() => scripted.watchers() === 1);
    for (const text of ["Here is **a", " list**:\n- one", "\n- two"]) scripted.emit("s-new", { type: "text.delta", text });
    const frame = await frameWhere((shown) => shown.includes("• two"));
    expect(frame).toContain("Here is a list:");
    expect(frame).not.toContain("**");
    mockInput.pressEscape();
    await frameWhere((shown) => shown.includes("[NORMAL]"));
    await mockInput.typeText(":quit");
    mockInput.pressEnter();
  });
  expect([scripted.calls.map(({ method }) => method), scripted.watchers()]).toEqual([["session.open", "turn.start"], 0]);
});

test("the first start says how to get the vi keys", async () => {
  await onScreen(
    scriptedApi(),
    null,
    async ({ mockInput, frameWhere }) => {
      await frameWhere((frame) => frame.includes("Keys like those of vi: skein config set keys vi"));
      pressQuit(mockInput);
    },
    { bindings: { preset: "plain", own: {} } },
  );
});

test("a paste of several lines is one message, and wide characters keep their columns", async () => {
  await onScreen(scriptedApi(), null, async ({ mockInput, frameWhere, resize }) => {
    await mockInput.pasteBracketedText("日本語 one\ntwo 👩‍👩‍👧 three");
    const frame = await frameWhere((shown) => shown.includes("three"));
    expect(frame).toMatch(/> 日本語 one *\n {2}two/);
    resize(40, 10);
    await frameWhere((shown) => shown.split("\n")[0]?.length === 40);
    mockInput.pressCtrlC();
    await frameWhere((shown) => shown.includes("cleared the message"));
    pressQuit(mockInput);
  });
});

test("any unexpected error ends the screen with that error", async () => {
  const broken = scriptedApi();
  const ended = onScreen(broken, "s-1", async () => {
    await until(() => broken.watchers() === 1);
    broken.emit("s-1", { type: "node.added" } as never);
  });
  expect(await errorOf(ended)).toBeInstanceOf(TypeError);
  const missing = scriptedApi({ "session.show": () => Promise.reject(new Fault("session-unknown", "there is no session s-1")) });
  expect(await errorOf(onScreen(missing, "s-1", async () => {}))).toMatchObject({ code: "session-unknown" });
});

function errorOf(ended: Promise<void>): Promise<unknown> {
  return ended.then(
    () => null,
    (error: unknown) => error,
  );
}

test("output of the old branch does not appear in the new one, and its feed is closed", async () => {
  const scripted = scriptedApi();
  await onScreen(scripted, "s-old", async ({ mockInput, frameWhere }) => {
    await until(() => scripted.watchers() === 1);
    scripted.emit("s-old", { type: "turn.started", turn: { parent: null, enforced: null } as Turn, session: session("s-old") });
    scripted.emit("s-old", { type: "text.delta", text: "old words" });
    await frameWhere((frame) => frame.includes("old words"));
    scripted.emit("s-old", { type: "text.delta", text: "held back" }); // the screen would show it 50 ms later
    mockInput.pressKey(" ");
    mockInput.pressKey("c");
    await frameWhere((frame) => frame.includes("Type a message"));
    scripted.emit("s-old", { type: "text.delta", text: "late words" });
    scripted.emit("s-fork", { type: "text.delta", text: "new words" });
    const frame = await frameWhere((shown) => shown.includes("new words"));
    expect(frame).not.toMatch(/old words|held back|late words/);
    expect(scripted.watchers()).toBe(1);
    pressQuit(mockInput);
  });
});

test("a turn of another process is shown live, can be steered, and is not stopped by Ctrl+C", async () => {
  const turn = { id: "t-1", parent: null, enforced: null } as Turn;
  const scripted = scriptedApi({ "turn.list": async () => [{ session: session("s-1"), turn, state: "running", pid: 4242 }] });
  await onScreen(scripted, "s-1", async ({ mockInput, frameWhere }) => {
    await until(() => scripted.watchers() === 1);
    scripted.emit("s-1", { type: "turn.started", turn, session: session("s-1") });
    await frameWhere((frame) => frame.includes("[waiting, pid 4242]"));
    await mockInput.typeText("look here");
    mockInput.pressEnter();
    await until(() => scripted.calls.some(({ method }) => method === "turn.steer"));
    mockInput.pressCtrlC();
    await frameWhere((frame) => frame.includes("runs in another process (pid 4242): :cancel stops it; Ctrl+C again quits"));
    mockInput.pressCtrlC();
  });
  expect(scripted.calls).toEqual([{ method: "turn.steer", params: { session: "s-1", text: "look here" } }]);
});

test("sub-sessions are followed with their parent, also after a late start, and their questions are shown", async () => {
  const subSession = { ...session("s-below"), parentSession: "s-1", task: "count the files" };
  const runningTurn = { session: subSession, turn: { id: "t-2", startedAt: 0 } as Turn, state: "running", pid: 4242 };
  const scripted = scriptedApi({ "turn.list": async () => [runningTurn] });
  scripted.setView("s-1", { open: { turn: "t-1", state: "running", pid: 4242, drafts: [] } });
  await onScreen(scripted, "s-1", async ({ mockInput, frameWhere }) => {
    await frameWhere((frame) => /count the files[^]*\[[\w-]+, pid 4242\]/.test(frame));
    await until(() => scripted.watchers() === 2);
    const ask = { id: "a-1", session: "s-below", question: "Which colour?", options: [], closedAt: null } as never;
    scripted.emit("s-below", { type: "ask.opened", ask });
    await frameWhere((frame) => frame.includes("Which colour?"));
    scripted.emit("s-below", { type: "ask.closed", ask });
    await frameWhere((frame) => !frame.includes("Which colour?"));
    pressQuit(mockInput);
  });
  expect(scripted.watchers()).toBe(0);
});

test("events are shown even if the list of turns can't be read", async () => {
  const scripted = scriptedApi({ "turn.list": () => Promise.reject(new Fault("store-broken", "the store can't be read")) });
  await onScreen(scripted, "s-1", async ({ mockInput, frameWhere }) => {
    await until(() => scripted.watchers() === 1);
    scripted.emit("s-1", { type: "turn.started", turn: { parent: null, enforced: null } as Turn, session: session("s-1") });
    await frameWhere((frame) => /the store can't be read[^]*\[waiting\]/.test(frame));
    pressQuit(mockInput);
  });
});

test("a message to a turn that has just ended starts the next turn", async () => {
  const ended = () => Promise.reject(new Fault("usage", "nothing runs in this session"));
  const scripted = scriptedApi({ "turn.steer": ended });
  await onScreen(scripted, "s-1", async ({ mockInput, frameWhere }) => {
    await until(() => scripted.watchers() === 1);
    scripted.emit("s-1", { type: "turn.started", turn: { parent: null, enforced: null } as Turn, session: session("s-1") });
    await frameWhere((frame) => frame.includes("[waiting]"));
    await mockInput.typeText("and now this");
    mockInput.pressEnter();
    await until(() => scripted.calls.some(({ method }) => method === "turn.start"));
    pressQuit(mockInput);
  });
  expect(scripted.calls.find(({ method }) => method === "turn.start")?.params).toMatchObject({ session: "s-1", prompt: "and now this" });
});

test("a turn that can't start returns its message to the prompt", async () => {
  const busy = () => {
    const feed = createFeed();
    feed.fail(new Fault("session-busy", "session s-1 is in use by process 7"));
    return feed;
  };
  const scripted = scriptedApi({ "turn.start": busy });
  await onScreen(scripted, "s-1", async ({ mockInput, frameWhere }) => {
    await mockInput.typeText("mine");
    mockInput.pressEnter();
    await frameWhere((frame) => /in use by process 7[^]*> mine *\n\[INSERT\] \[idle\]/.test(frame));
    mockInput.pressCtrlC();
    pressQuit(mockInput);
  });
});

test("a lost hub is reported and found again, and later changes are shown", async () => {
  const scripted = scriptedApi();
  let isHubRunning = false;
  const connectHub = async () => {
    if (!isHubRunning) throw new Fault("hub-unreachable", "no hub runs");
    return scripted.api;
  };
  await onScreen(
    scripted,
    "s-1",
    async ({ mockInput, frameWhere }) => {
      await until(() => scripted.watchers() === 1);
      scripted.loseConnection(new Fault("connection-lost", "the connection was closed"));
      await frameWhere((frame) => frame.includes("connection to the hub lost"));
      scripted.setView("s-1", { open: { turn: "t-1", state: "interrupted", pid: null, drafts: [{ key: "text", text: "half an ans" }] } });
      isHubRunning = true;
      await until(() => scripted.watchers() === 1);
      await frameWhere((frame) => /half an ans[^]*interrupted: Enter continues the turn/.test(frame));
      mockInput.pressEnter();
      await until(() => scripted.calls.length === 1);
      pressQuit(mockInput);
    },
    { connectHub },
  );
  expect(scripted.calls[0]).toMatchObject({ method: "turn.start", params: { session: "s-1", prompt: null } });
});

test("a drag of the mouse copies the text under it, and a click opens and folds a call", async () => {
  const scripted = scriptedApi();
  const call = { kind: "call" as const, id: "c", name: "bash", input: { command: "ls" } };
  const result = { kind: "result" as const, call: "c", name: "bash", text: "a.py\nb.py", isError: false };
  scripted.setView("s-1", {
    nodes: [
      nodeOf("n1", null, "user", "list"),
      nodeOf("n2", "n1", "agent", [call]),
      nodeOf("n3", "n2", "tool", [result]),
      nodeOf("n4", "n3", "agent", "```py\nprint(1)\n  done()\n```"),
    ],
  });
  copied.length = 0;
  await onScreen(scripted, "s-1", async ({ mockInput, mockMouse, frameWhere }) => {
    const rowOf = (frame: string, text: string) => frame.split("\n").findIndex((row) => row.includes(text));
    const frame = await frameWhere((shown) => shown.includes("done()"));
    await mockMouse.drag(0, rowOf(frame, "╭─"), 79, rowOf(frame, "╰─"));
    await frameWhere((shown) => shown.includes("copied 2 lines"));
    await mockMouse.click(5, rowOf(frame, "> bash ls"));
    await frameWhere((shown) => /v bash ls *\n.*│ a\.py/.test(shown));
    await mockMouse.click(5, rowOf(frame, "> bash ls"));
    await frameWhere((shown) => shown.includes("> bash ls · 2 lines"));
    pressQuit(mockInput);
  });
  expect(copied).toEqual(["print(1)\n  done()"]);
});

const copied: string[] = [];

async function onScreen(
  { api }: ScriptedApi,
  sessionId: string | null,
  check: (setup: TestRendererSetup & { frameWhere: FrameWhere }) => Promise<void>,
  { connectHub = null, bindings = viKeys }: Partial<Pick<ScreenOptions, "connectHub" | "bindings">> = {},
): Promise<void> {
  await using setup = await createTestRenderer({ width: 80, height: 24, exitOnCtrlC: false, kittyKeyboard: true });
  const options = {
    api,
    directory: "/",
    project: "/",
    home: "/",
    turn: { policy: { net: "off", sandbox: "auto" } },
    open: {},
    session: sessionId === null ? null : session(sessionId),
    connectHub,
    color: true,
    bindings,
    local: {
      history: { entries: [], add: () => {} },
      unsent: { claim: () => null, save: () => {}, problem: () => null },
      readBranch: () => null,
      readImage: () => ({ mime: "image/png", base64: "" }),
    },
    notify: () => {},
    setTitle: () => {},
    copy: (text: string) => copied.push(text) > 0,
    surface: (surfaceOptions: SurfaceOptions) => canvasSurface(setup.renderer, surfaceOptions),
    running: new Map(),
    onSession: () => {},
    onStop: () => {},
  } as unknown as ScreenOptions;
  const ended = runScreen(options, setup.renderer);
  const frameWhere: FrameWhere = async (isExpected) => {
    for (;;) {
      await setup.waitForVisualIdle();
      const frame = setup.captureCharFrame();
      if (isExpected(frame)) return frame;
      await Bun.sleep(5);
    }
  };
  await check({ ...setup, frameWhere });
  await ended;
}

/** Resolves with the first frame that passes the check. */
type FrameWhere = (isExpected: (frame: string) => boolean) => Promise<string>;

function pressQuit({ pressCtrlC }: TestRendererSetup["mockInput"]): void {
  pressCtrlC();
  pressCtrlC();
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(5);
}
