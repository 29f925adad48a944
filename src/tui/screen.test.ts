// The screen on OpenTUI's own test renderer: real keys in, real cells out, and an Api that plays one turn.
import { expect, test } from "bun:test";
import { createTestRenderer, type TestRendererSetup } from "@opentui/core/testing";
import type { Api } from "../protocol/api.ts";
import type { Event } from "../protocol/event.ts";
import type { Session } from "../protocol/turn.ts";
import { runScreen, type ScreenParts } from "./app.ts";

test("a message is typed, its answer streams in, and :quit gives the session back", async () => {
  await onScreen(async ({ mockInput, waitForFrame }) => {
    await waitForFrame((frame) => frame.includes("Type a message"));
    await mockInput.typeText("hello 日本 there");
    mockInput.pressEnter();
    const frame = await waitForFrame((shown) => shown.includes("• two"));
    expect(frame).toContain("Here is a list:");
    expect(frame).not.toContain("**");
    mockInput.pressEscape();
    await waitForFrame((shown) => shown.includes("[NORMAL]"));
    await mockInput.typeText(":quit");
    mockInput.pressEnter();
  });
});

test("a paste of several lines is one message, and wide characters keep their columns", async () => {
  await onScreen(async ({ mockInput, waitForFrame, resize }) => {
    await mockInput.pasteBracketedText("日本語 one\ntwo 👩‍👩‍👧 three");
    const frame = await waitForFrame((shown) => shown.includes("three"));
    expect(frame).toMatch(/> 日本語 one *\n {2}two/);
    resize(40, 10);
    await waitForFrame((shown) => shown.split("\n")[0]?.length === 40);
    mockInput.pressCtrlC();
    mockInput.pressCtrlC();
  });
});

test("whatever breaks ends it with that error", async () => {
  const broken: [string, (parts: ScreenParts) => void][] = [
    ["a turn that tells nonsense", ({ api }) => (api.turn.start = () => nonsense())],
    ["a session that is none", (screen) => (screen.session = {} as Session)],
  ];
  for (const [, spoil] of broken) {
    await using setup = await createTestRenderer({ width: 80, height: 24, exitOnCtrlC: false, kittyKeyboard: true });
    const spoilt = parts();
    spoil(spoilt);
    const over = runScreen(spoilt, setup.renderer);
    await setup.mockInput.typeText("x");
    setup.mockInput.pressEnter();
    expect(
      await over.then(
        () => null,
        (error: unknown) => error,
      ),
    ).toBeInstanceOf(Error);
  }
});

async function* nonsense(): AsyncGenerator<Event> {
  yield { seq: 1, n: 0, sessionId: session.id, turnId: "t", at: 0, type: "node.added" } as unknown as Event;
}

async function onScreen(walk: (setup: TestRendererSetup) => Promise<void>): Promise<void> {
  await using setup = await createTestRenderer({ width: 80, height: 24, exitOnCtrlC: false, kittyKeyboard: true });
  const over = runScreen(parts(), setup.renderer);
  await walk(setup);
  await over;
}

const session = { id: "0000-session", name: null, tip: null, agent: "native", model: null } as Session;

function parts(): ScreenParts {
  const api = {
    session: { open: async () => session, use: async () => {} },
    turn: { start: () => oneTurn() },
  } as unknown as Api;
  return {
    api,
    directory: "/",
    turn: { policy: { net: "off", sandbox: "auto" } },
    open: {},
    session: null,
    color: true,
    bindings: {},
    own: { history: { entries: [], add: () => {} }, readImage: () => ({ mime: "image/png", base64: "" }) },
    notify: () => {},
    setTitle: () => {},
    onSession: () => {},
    onStop: () => {},
  } as unknown as ScreenParts;
}

async function* oneTurn(): AsyncGenerator<Event> {
  const head = { seq: 1, sessionId: session.id, turnId: "t", at: 0 };
  for (const [n, text] of ["Here is **a", " list**:\n- one", "\n- two"].entries()) yield { ...head, n, type: "text.delta", text };
}
