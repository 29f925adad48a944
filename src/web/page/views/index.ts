// The table of views. A view is a folder here and one entry. Its code is loaded when it is opened, unless it is the inbox.
import type { Turn } from "../../../protocol/tree/turn.ts";
import type { ComponentType } from "preact";
import type { FollowedSession } from "../state/follow-session.ts";
import { InboxView } from "./inbox/inbox-view.tsx";

/** A view of the whole machine, at `#/<name>`. */
export type View = {
  name: string;
  title: string;
  /** Pressed after `g`. */
  key: string;
  load: () => Promise<ComponentType<ViewProps>>;
};
/** `parts` are the parts of the address after the view's name. */
export type ViewProps = { parts: readonly string[] };

/** A view of one session, at `#/session/<id>/<name>` and as a tab of the session. The first one has no name in the address. */
export type SessionView = {
  name: string;
  title: string;
  /** Pressed after `g`. */
  key: string;
  /** Whether a session has this view; without it, every session has. */
  isFor?: (turns: readonly Turn[]) => boolean;
  load: () => Promise<ComponentType<SessionViewProps>>;
};
export type SessionViewProps = { id: string; followed: FollowedSession; parts: readonly string[] };

export const views: readonly View[] = [
  { name: "inbox", title: "Inbox", key: "i", load: async () => InboxView },
  {
    name: "groups",
    title: "Teams & races",
    key: "w",
    load: async () => (await import("./groups/groups-view.tsx")).GroupsView,
  },
  { name: "numbers", title: "Numbers", key: "n", load: async () => (await import("./numbers/numbers-view.tsx")).NumbersView },
  { name: "search", title: "Search", key: "s", load: async () => (await import("./search/search-view.tsx")).SearchView },
];

export const sessionViews: readonly SessionView[] = [
  {
    name: "conversation",
    title: "Conversation",
    key: "c",
    load: async () => (await import("./session/conversation-view.tsx")).ConversationView,
  },
  { name: "tree", title: "Tree", key: "t", load: async () => (await import("./tree/tree-view.tsx")).TreeView },
  {
    name: "changes",
    title: "Changes",
    key: "d",
    load: async () => (await import("./changes/changes-view.tsx")).ChangesView,
  },
  {
    name: "team",
    title: "Team",
    key: "m",
    isFor: (turns) => turns.some(({ agent }) => agent === "team"),
    load: async () => (await import("./team/team-view.tsx")).TeamView,
  },
  {
    name: "race",
    title: "Race",
    key: "r",
    isFor: (turns) => turns.some(({ agent }) => agent === "race"),
    load: async () => (await import("./race/race-view.tsx")).RaceView,
  },
  {
    name: "loop",
    title: "Loop",
    key: "l",
    isFor: (turns) => turns.some(({ loop }) => loop !== undefined),
    load: async () => (await import("./loop/loop-view.tsx")).LoopView,
  },
];
