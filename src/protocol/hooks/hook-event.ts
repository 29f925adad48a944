// Events that the user's hooks are for. The engine reports them; the app runs the hooks.
import type { TurnError } from "../api/error.ts";
import type { Ask } from "../api/control.ts";
import type { Session, Turn } from "../tree/turn.ts";

export const hookNames = ["turn_ended", "ask_opened", "turn_waiting"] as const;
export type HookName = (typeof hookNames)[number];

export type HookEvent =
  | { type: "turn_ended"; session: Session; turn: Turn; answer: string }
  | { type: "ask_opened"; session: Session; turnId: string; ask: Ask }
  /** `until` is null if the vendor does not say when its limit ends. */
  | { type: "turn_waiting"; session: Session; turn: Turn; until: number | null; error: TurnError | null };
