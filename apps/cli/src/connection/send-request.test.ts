import { once } from 'node:events';
import { createServer, globalAgent, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { sendRequest } from './send-request.ts';

it('keeps a request whose connection has a timer that ends before 120 s', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const answering = sendRequest(url, { headers: {} });
    const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
    for (const sockets of Object.values(globalAgent.sockets))
      for (const socket of sockets ?? []) socket.emit('timeout');
    response.end('here');
    expect(await answering).toMatchObject({ status: 200, text: 'here' });
  } finally {
    server.close();
  }
});
