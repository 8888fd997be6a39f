import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface WorkerProcess {
  pid: number;
  /** Ends it as an operator would; throws if it did not exit cleanly. */
  stop(): Promise<void>;
}

const CLI = fileURLToPath(new URL('../../apps/cli/bin/recount.mjs', import.meta.url));

/** Starts `recount worker` with its default settings, and resolves once it takes jobs. */
export async function startWorkerProcess(connectionString: string, rawStoreFolder: string): Promise<WorkerProcess> {
  const child = spawn(process.execPath, ['--max-semi-space-size=8', CLI, 'worker'], {
    env: { ...process.env, DATABASE_URL: connectionString, RECOUNT_RAW_STORE: rawStoreFolder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  const lines = createInterface(child.stdout);
  const isReady = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      if (line.includes('"worker ready"')) resolve();
    });
  });
  await Promise.race([isReady, exit]);
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null) throw new Error('A worker ended before it was ready');
  return {
    pid,
    async stop() {
      child.kill('SIGTERM');
      const [code] = await exit;
      if (code !== 0) throw new Error(`A worker ended with exit code ${code}`);
    },
  };
}
