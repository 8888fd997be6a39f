import { once } from 'node:events';
import { createServer } from 'node:net';
import { CliError } from '../terminal/cli-error.ts';

const PORTS_TRIED = 20;

/** The first free port from `port` on; if it `isFixed`, only `port` itself, or a CliError. */
export async function findPort(host: string, port: number, isFixed: boolean): Promise<number> {
  const last = isFixed ? port : port + PORTS_TRIED - 1;
  for (let candidate = port; candidate <= last; candidate += 1) {
    if (await isFree(host, candidate)) return candidate;
  }
  const taken = isFixed ? `Port ${port} is in use` : `All ports from ${port} to ${last} are in use`;
  throw new CliError(`${taken}: name another with --port.`);
}

async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') return false;
    throw new CliError(`Cannot listen on ${host}, port ${port} (${code}).`, { cause: error });
  }
}
