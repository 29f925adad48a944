// A TCP proxy that delays every chunk, so that a server on this machine answers as one at a distance.
export type DelayingProxy = { port: number; stop: () => void };

/** `roundTripMs` is the time that a question and its answer take on the way. */
export function startDelayingProxy(target: number, roundTripMs: number): DelayingProxy {
  const later = (act: () => void) => void setTimeout(act, roundTripMs / 2);
  type Pair = { upstream: Promise<Bun.Socket> };
  const server = Bun.listen<Pair>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(client) {
        client.data = {
          upstream: Bun.connect({
            hostname: "127.0.0.1",
            port: target,
            socket: {
              data: (_, bytes) => {
                const copy = Buffer.from(bytes);
                later(() => client.write(copy));
              },
              close: () => later(() => client.end()),
            },
          }),
        };
      },
      data(client, bytes) {
        const copy = Buffer.from(bytes);
        later(() => void client.data.upstream.then((upstream) => upstream.write(copy)));
      },
      close: (client) => void client.data.upstream.then((upstream) => upstream.end()),
    },
  });
  return { port: server.port, stop: () => server.stop(true) };
}
