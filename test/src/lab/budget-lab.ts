import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type InstalledProgram, installProgram } from './install.ts';
import type { Program } from './programs/program.ts';
import { runRecount } from './recount.ts';
import { runProgram, toBaseEnvironment } from './run-program.ts';
import { createRepository, RUN_TIMEOUT_MS } from './run-situation.ts';
import { type FakeApi, startFakeApi } from './server/fake-api.ts';
import type { Store } from './store.ts';

const BUDGET = 'lab-budget';
const MARKER = 'LAB-budget';
const HOUR_MS = 3_600_000;
/** No prompt waits longer for the hook, whatever the server does. Programs need some seconds to start. */
const MAX_DELAY_MS = 10_000;

/** Starts of programs that can be stopped, with the arguments that make them run hooks and say what became of them. */
const HOOKED: Readonly<Record<string, { toWords(words: string[]): string[]; stopped: RegExp; warned: RegExp }>> = {
  'claude-code': {
    toWords: (words) => ['--include-hook-events', ...words],
    stopped: new RegExp(`blocked by hook:.*the budget ${BUDGET} is reached`),
    warned: new RegExp(`systemMessage.*the budget ${BUDGET} is reached`),
  },
  codex: {
    // People approve the hook once. Only the output for people says what became of it.
    toWords: (words) => [
      ...words.slice(0, 1),
      '--dangerously-bypass-hook-trust',
      ...words.slice(1).filter((word) => word !== '--json'),
    ],
    stopped: /^hook: UserPromptSubmit Blocked$/m,
    warned: /^hook: UserPromptSubmit Completed$/m,
  },
};

/** A server that answers every request with this. */
const FAULTS: Readonly<Record<string, RequestListener>> = {
  slow: () => undefined,
  failing: (_request, response) => response.writeHead(500).end('{"type":"about:blank"}'),
  'answering a page': (_request, response) => response.setHeader('content-type', 'text/html').end('<p>Welcome</p>'),
  'answering nonsense': (_request, response) =>
    response.setHeader('content-type', 'application/json').end(
      JSON.stringify({
        budgets: [
          {
            ...{ id: 7, name: BUDGET, unit: ['usd'], amount: '0', time_zone: 'UTC', filters: null },
            status: { from: '2000-01-01', to: '9999-01-01', spent: 'everything', spent_share: null },
          },
        ],
      }),
    ),
};

interface Trial {
  program: Program;
  installed: InstalledProgram;
  home: string;
  project: string;
  environment: Record<string, string>;
  api: FakeApi;
}

export interface BudgetResult {
  label: string;
  version: string;
  what: string;
  /** Undefined if it holds. */
  fault: string | undefined;
}

interface BudgetLabOptions {
  programs: readonly Program[];
  version: string | undefined;
  isOffline: boolean;
  folder: string;
  store: Store;
  onResult(result: BudgetResult): void;
}

/** Tries the hook of budgets in the programs that have one. Returns true if all of it holds. */
export async function runBudgetLab(options: BudgetLabOptions): Promise<boolean> {
  let isRight = true;
  for (const program of options.programs.filter(({ agent }) => HOOKED[agent] !== undefined)) {
    const installed = await installProgram(program, options);
    const folder = join(options.folder, program.agent, installed.version, 'budget');
    await rm(folder, { recursive: true, force: true });
    const trial = await prepare(program, installed, folder);
    const report = (what: string, fault: string | undefined): void => {
      isRight &&= fault === undefined;
      options.onResult({ label: program.label, version: installed.version, what, fault });
    };
    try {
      await tryAll(trial, options.store, report);
    } finally {
      await runRecount(['disconnect', '--force'], trial.environment);
      await trial.api.close();
    }
  }
  return isRight;
}

async function prepare(program: Program, installed: InstalledProgram, folder: string): Promise<Trial> {
  const place = { home: join(folder, 'home'), project: join(folder, 'project'), url: '' };
  await mkdir(place.home, { recursive: true });
  await createRepository(place.project);
  const steps = Array.from({ length: 20 }, () => ({ text: 'Done.', isOptional: true }));
  const api = await startFakeApi({ steps: { [MARKER]: steps }, logFolder: join(folder, 'api'), onExchange() {} });
  const environment = { ...toBaseEnvironment(place.home), ...(await program.prepare({ ...place, url: api.url })) };
  return { program, installed, ...place, environment, api };
}

type Report = (what: string, fault: string | undefined) => void;

async function tryAll(trial: Trial, { telemetry: server, upload }: Store, report: Report): Promise<void> {
  const place = ['--server', server.url, '--key', server.key];
  const connect = (...words: string[]) =>
    runRecount(['connect', server.url, '--yes', ...words], { ...trial.environment, RECOUNT_API_KEY: server.key });
  const { stopped, warned } = HOOKED[trial.program.agent] ?? {};
  if (stopped === undefined || warned === undefined) return;

  const free = await ask(trial);
  const maxMs = free.durationMs + MAX_DELAY_MS;
  report('without a budget', free.exchanges === 1 ? undefined : 'it does not answer');
  await upload(trial.environment);
  await runRecount(['budget', 'set', BUDGET, '--amount', '1', '--unit', 'tokens', ...place], {});

  await connect('--stop-at-budget', BUDGET);
  const stop = await ask(trial);
  report('reached, to stop', judge(stop, { exchanges: 0, maxMs, said: stopped }));
  await connect('--warn-at-budget', BUDGET);
  report('reached, to warn', judge(await ask(trial), { exchanges: 1, maxMs, said: warned }));
  await runRecount(['budget', 'set', BUDGET, '--amount', '1e12', ...place], {});
  await connect('--stop-at-budget', BUDGET);
  report('not reached', judge(await ask(trial), { exchanges: 1, maxMs, unsaid: stopped }));
  await runRecount(['budget', 'set', BUDGET, '--amount', '1', ...place], {});
  await connect('--stop-at-budget', BUDGET);

  // A server that cannot be reached, for longer than figures hold.
  await tryFault(trial, 'http://127.0.0.1:9', 'server down', { maxMs, report });
  for (const [what, listener] of Object.entries(FAULTS)) {
    const faulty = createServer(listener);
    await new Promise<void>((resolve) => faulty.listen(0, '127.0.0.1', resolve));
    try {
      await tryFault(trial, `http://127.0.0.1:${(faulty.address() as AddressInfo).port}`, `server ${what}`, {
        maxMs,
        report,
      });
    } finally {
      faulty.closeAllConnections();
      faulty.close();
    }
  }
}

/** Makes the figures that the machine has older than an hour, and gives it another server. */
async function tryFault(
  trial: Trial,
  url: string,
  what: string,
  { maxMs, report }: { maxMs: number; report: Report },
): Promise<void> {
  const collector = join(trial.home, '.recount/collector');
  const change = async (name: string, fields: object): Promise<void> => {
    const path = join(collector, name);
    await writeFile(path, JSON.stringify({ ...(JSON.parse(await readFile(path, 'utf8')) as object), ...fields }));
  };
  const before = await readFile(join(collector, 'connection.json'), 'utf8');
  const figures = await readFile(join(collector, 'budgets.json'), 'utf8');
  try {
    await change('connection.json', { url });
    await change('budgets.json', { readAtMs: Date.now() - 2 * HOUR_MS });
    await rm(join(collector, 'budgets.json.refreshing'), { force: true });
    const { stopped } = HOOKED[trial.program.agent] ?? {};
    const first = judge(await ask(trial), { exchanges: 1, maxMs, unsaid: stopped });
    // As the process in the background does, so that its outcome is there.
    await runRecount(['budget', 'remember'], trial.environment).catch(() => undefined);
    report(what, first ?? judge(await ask(trial), { exchanges: 1, maxMs, unsaid: stopped }));
  } finally {
    await writeFile(join(collector, 'connection.json'), before);
    await writeFile(join(collector, 'budgets.json'), figures);
  }
}

interface Asked {
  /** Requests that the vendor's API got. */
  exchanges: number;
  said: string;
  durationMs: number;
  failure: string | undefined;
}

async function ask(trial: Trial): Promise<Asked> {
  const { program, installed, api, project: cwd, environment } = trial;
  const before = api.exchanges.length;
  const prompt = `Please do what ${MARKER} says.`;
  const words = program.toArguments({ start: 'new', prompt }, [], { ...trial, url: api.url });
  const start = { command: installed.command, cwd, environment, timeoutMs: RUN_TIMEOUT_MS };
  const startedMs = performance.now();
  const run = await runProgram({ ...start, arguments: HOOKED[program.agent]?.toWords(words) ?? words });
  const durationMs = performance.now() - startedMs;
  const failure = run.isLate ? 'it did not end' : run.exitCode === 0 ? undefined : `exit code ${run.exitCode}`;
  return { exchanges: api.exchanges.length - before, said: `${run.stdout}\n${run.stderr}`, durationMs, failure };
}

interface Expected {
  exchanges: number;
  maxMs: number;
  said?: RegExp;
  unsaid?: RegExp | undefined;
}

function judge({ exchanges, said, durationMs, failure }: Asked, expected: Expected): string | undefined {
  if (failure !== undefined) return failure;
  if (exchanges !== expected.exchanges) return `${exchanges} requests in place of ${expected.exchanges}`;
  if (expected.said?.test(said) === false) return `it does not say ${expected.said.source}`;
  if (expected.unsaid?.test(said)) return `it says ${expected.unsaid.source}`;
  if (/hook: UserPromptSubmit Failed|"outcome":"error"/.test(said)) return 'the hook failed';
  return durationMs > expected.maxMs ? `it took ${Math.round(durationMs)} ms` : undefined;
}
