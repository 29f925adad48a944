// The interface of a surface, which paints the state: on the whole terminal, or in the rows below printed output.
import type { ImagesMessage, MouseMessage, State } from "../model/state.ts";

export type Surface = {
  /** Paints soon, once for several calls. */
  draw: () => void;
  /** Paints everything again, without regard to the earlier content of the terminal. */
  redraw: () => void;
  /** Called before another program gets the terminal, and after it. */
  suspend: () => void;
  resume: () => void;
  close: () => void;
};

export type SurfaceOptions = {
  state: () => State;
  color: boolean;
  onMouse: (message: MouseMessage) => void;
  /** Called when the terminal reports image support, and for an image that can't be drawn. */
  onImages: (message: ImagesMessage) => void;
};
export type CreateSurface = (options: SurfaceOptions) => Surface;
