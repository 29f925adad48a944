// What lies over the transcript, as one table: what a key does in it, and how it looks.
import type { Key, State, Step } from "../state.ts";
import type { OverlayView, Room } from "./box.ts";
import { pickerView, pressInPicker, type Picker } from "./picker.ts";
import { pressInReader, readerView, type Reader } from "./reader.ts";

export type Overlay = Reader | Picker;

type Part<O> = { press: (state: State, overlay: O, key: Key) => Step; view: (overlay: O, room: Room) => OverlayView };

export const overlays: { [K in Overlay["kind"]]: Part<Extract<Overlay, { kind: K }>> } = {
  reader: { press: pressInReader, view: readerView },
  picker: { press: pressInPicker, view: pickerView },
};

export function pressInOverlay(state: State, overlay: Overlay, key: Key): Step {
  return overlays[overlay.kind].press(state, overlay as never, key);
}

export function viewOfOverlay(overlay: Overlay, room: Room): OverlayView {
  return overlays[overlay.kind].view(overlay as never, room);
}
