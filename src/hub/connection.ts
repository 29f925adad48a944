// What every transport gives and takes: whole frames, either way. Data only.

export type Connection = {
  /** What comes back, if anything, resolves when there is room for more. It never rejects. */
  send: (frame: string) => Promise<void> | void;
  close: (why: string) => void;
};

/** Whoever talks over a connection. After `lost` nothing comes any more. */
export type FrameHandler = {
  receive: (frame: string) => void;
  closed: (why: string) => void;
};

/** Called once for each connection, before its first frame. */
export type AcceptConnection = (connection: Connection) => FrameHandler;

export type Listener = { close: () => void };

export const connectionLimits = {
  /** One frame, either way. */
  frameBytes: 16 << 20,
  /** Whoever lets more than this pile up without reading is let go. */
  unsentBytes: 64 << 20,
  /** Of one listener, at once. */
  connections: 512,
} as const;
