import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { sendEmail } from './send-email.ts';

/** A mail server that has only a beginning. It keeps its side of each connection open. */
async function startServer(onConnection: (socket: Socket) => void): Promise<{ url: string; closed: Promise<unknown> }> {
  const server = createServer({ allowHalfOpen: true });
  const closed = once(server, 'connection').then(([socket]: Socket[]) => {
    socket?.on('error', () => undefined).resume();
    if (socket !== undefined) onConnection(socket);
    return socket && new Promise((resolve) => socket.on('end', resolve).on('close', resolve));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, closed };
}

const MAIL = { id: 'one', to: ['ada@example.org'], subject: 'Hello', text: 'Hello' };
const send = (url: string, timeoutMs: number, signal?: AbortSignal) =>
  sendEmail({ url, from: 'recount@example.org' }, MAIL, { timeoutMs, ...(signal && { signal }) });

it('closes the connection to a server that accepts it and never answers', async () => {
  const { url, closed } = await startServer(() => undefined);
  await expect(send(url, 300)).rejects.toThrow('The mail server did not accept it (ETIMEDOUT)');
  await closed;
});

it('closes the connection to a server that greets and then never answers', async () => {
  const { url, closed } = await startServer((socket) => socket.write('220 mail.example.org\r\n'));
  await expect(send(url, 300)).rejects.toThrow('The mail server did not accept it (ETIMEDOUT)');
  await closed;
});

it('closes the connection to a server that never ends its answer, once the attempt is given up', async () => {
  const giveUp = new AbortController();
  const { url, closed } = await startServer((socket) => {
    let lines = 0;
    const timer = setInterval(() => {
      if (!socket.destroyed) socket.write('220-still here\r\n');
      if (++lines === 3) giveUp.abort();
    }, 20);
    socket.on('close', () => clearInterval(timer));
    onTestFinished(() => clearInterval(timer));
  });
  await expect(send(url, 60_000, giveUp.signal)).rejects.toThrow('The mail server did not accept it');
  await closed;
});
