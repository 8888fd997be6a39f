import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  port: number;
  /** Target port on 127.0.0.1 of new connections. */
  setTargetPort(port: number): void;
  connectionCount(): number;
  /** Breaks a connection on both sides with a reset; `index` is its position among the open ones. */
  reset(index: number): void;
  /** Lets half of the next chunk from the server through, then resets. */
  cut(index: number): void;
  /** Delays both directions for this long. */
  delay(index: number, delayMs: number): void;
  stop(): Promise<void>;
}

interface Connection {
  client: Socket;
  server: Socket;
  isToBeCut: boolean;
  reset(): void;
}

/** A TCP proxy on 127.0.0.1 that passes everything on, until it is asked to break or delay a connection. */
export async function startTcpProxy(): Promise<TcpProxy> {
  const connections = new Set<Connection>();
  let targetPort = 0;

  const listener = createServer({ noDelay: true }, (client) => {
    const server = createConnection({ port: targetPort, host: '127.0.0.1', noDelay: true });
    const connection: Connection = {
      client,
      server,
      isToBeCut: false,
      reset() {
        if (!connections.delete(connection)) return;
        client.resetAndDestroy();
        server.resetAndDestroy();
      },
    };
    connections.add(connection);
    for (const socket of [client, server]) {
      // An error on one side breaks the other: `close` follows.
      socket.on('error', () => undefined);
      socket.on('close', () => connection.reset());
    }
    client.pipe(server);
    server.on('data', (chunk) => {
      if (connection.isToBeCut) {
        client.write(chunk.subarray(0, chunk.length / 2), () => connection.reset());
        return;
      }
      if (client.write(chunk)) return;
      server.pause();
      client.once('drain', () => server.resume());
    });
    server.on('end', () => client.end());
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');

  const at = (index: number): Connection | undefined => [...connections][index];
  return {
    port: (listener.address() as AddressInfo).port,
    setTargetPort(port) {
      targetPort = port;
    },
    connectionCount: () => connections.size,
    reset: (index) => at(index)?.reset(),
    cut(index) {
      const connection = at(index);
      if (connection !== undefined) connection.isToBeCut = true;
    },
    delay(index, delayMs) {
      const connection = at(index);
      if (connection === undefined) return;
      connection.client.pause();
      connection.server.pause();
      setTimeout(() => {
        connection.client.resume();
        connection.server.resume();
      }, delayMs);
    },
    async stop() {
      for (const connection of connections) connection.reset();
      listener.close();
      await once(listener, 'close');
    },
  };
}
