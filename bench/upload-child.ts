import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readApiConfig, startApi } from '@recount/api';
import { pino } from 'pino';

/** The minimum work of any server, which reads the request to its end. */
async function startDrain(): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(202).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

// Prints its address, serves until its input ends, and then prints its peak memory.
const [subject, connectionString = '', directory = ''] = process.argv.slice(2);
const environment = { DATABASE_URL: connectionString, RECOUNT_RAW_STORE: directory, RECOUNT_PORT: '0' };
const server =
  subject === 'drain' ? await startDrain() : await startApi(readApiConfig(environment), pino({ level: 'silent' }));
console.log(server.url);
for await (const _ of process.stdin);
console.log(process.resourceUsage().maxRSS * 1024);
await server.close();
