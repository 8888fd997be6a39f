import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { findPort } from './find-port.ts';

it('takes the next port if one is in use, unless the port is mandatory', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(await findPort('127.0.0.1', port, false)).toBeGreaterThan(port);
  await expect(findPort('127.0.0.1', port, true)).rejects.toThrow(`Port ${port} is in use: name another with --port.`);
  expect(await findPort('127.0.0.1', 0, true)).toBe(0);
});

it('says if no port can be bound', async () => {
  await expect(findPort('203.0.113.1', 7878, true)).rejects.toThrow('Cannot listen on 203.0.113.1, port 7878');
});
