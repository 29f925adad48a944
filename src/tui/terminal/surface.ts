// What the state is painted on: the whole terminal, or only the rows below all that was printed.
import type { ImagesMessage, State } from "../model/state.ts";

export type Surface = {
  /** Soon, and once for all that arrives together. */
  draw: () => void;
  /** All of it, whatever the terminal shows. */
  redraw: () => void;
  /** Before someone else has the terminal, and after that. */
  away: () => void;
  back: () => void;
  close: () => void;
};

export type SurfaceOptions = {
  state: () => State;
  color: boolean;
  onWheel: (rows: number) => void;
  /** What becomes known of the images that it can draw. */
  onImages: (message: ImagesMessage) => void;
};
export type CreateSurface = (shown: SurfaceOptions) => Surface;
