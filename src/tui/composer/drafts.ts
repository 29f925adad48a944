// Keeps an unsent message for each session, so that the draft of one session does not appear in another. Pure.
import type { Session } from "../../protocol/tree/turn.ts";
import type { State } from "../model/state.ts";
import type { UnsentMessage } from "./unsent.ts";

/** Drafts of sessions that are not visible, by session id. The key of a session without a message is empty. */
export type Drafts = Readonly<Record<string, UnsentMessage>>;

/**
 * Replaces the unsent message when another session becomes visible. Text that was typed before the first session was read
 * stays, and so does the text during a fork.
 */
export function swapDraft(state: State, next: Session | null): State {
  const { drafts, carriesDraft, session, composer } = state;
  const [from, to] = [session?.id ?? "", next?.id ?? ""];
  if (drafts === null) return { ...state, drafts: {} };
  if (from === to || carriesDraft) return { ...state, carriesDraft: false };
  const { [to]: restored, ...others } = drafts;
  const { text, chips } = restored ?? { text: "", chips: [] };
  return {
    ...state,
    drafts: state.unsent.text.trim() === "" ? others : { ...others, [from]: { text: state.unsent.text, chips: composer.chips } },
    unsent: { text, cursor: text.length },
    composer: { ...composer, chips, undo: [], recalled: null, menu: null },
  };
}
