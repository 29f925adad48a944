// What each list to choose from is called, what it offers where that is known at once, and what choosing does.
import type { Bindings } from "../bindings.ts";
import { screenCommands } from "../commands.ts";
import { waysTo } from "../help.ts";
import type { State, Step } from "../state.ts";
import type { Item, Purpose } from "./picker.ts";

type Choosing = { title: string; items?: (bindings: Bindings) => readonly Item[]; choose: (state: State, item: Item) => Step };

export const purposes: Record<Purpose, Choosing> = {
  palette: {
    title: "commands",
    items: (bindings) =>
      screenCommands.map((command, at) => ({ id: String(at), label: command.summary, detail: waysTo(command, bindings) })),
    choose: (state, { id }) => screenCommands[Number(id)]!.run(state, ""),
  },
};
