import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { InstalledProgram } from './install.ts';
import type { EarlierRun, Program, TelemetryTarget } from './programs/program.ts';
import { type ProgramRun, runProgram, toBaseEnvironment } from './run-program.ts';
import type { Exchange } from './server/exchange.ts';
import { startFakeApi } from './server/fake-api.ts';
import type { Steps } from './server/script.ts';
import { COMPACTION_MARKER, type Situation, type Turn } from './situations.ts';

/** A start takes seconds; slow machines and programs that wait between their retries take longer. */
export const RUN_TIMEOUT_MS = 300_000;
/** The time that a program gets to write down what it has received before it is killed. */
const BEFORE_KILL_MS = 1_000;

/** One start of the program, with the exchanges that it caused. */
export interface SituationRun extends ProgramRun, EarlierRun {
  exchanges: Exchange[];
}

export interface SituationResult {
  home: string;
  project: string;
  environment: Record<string, string>;
  runs: SituationRun[];
  exchanges: readonly Exchange[];
  /** Why the program did not do what the situation asks; recount cannot be compared then. */
  failure: string | undefined;
}

/**
 * Runs a program through a situation. `folder` gets its home, its working directory, its output and the API's log. `telemetry`
 * gets what the program exports.
 */
export async function runSituation(
  program: Program,
  installed: InstalledProgram,
  situation: Situation,
  folder: string,
  telemetry?: TelemetryTarget,
): Promise<SituationResult> {
  const place = { home: join(folder, 'home'), project: join(folder, 'project'), url: '', telemetry };
  await mkdir(place.home, { recursive: true });
  await createRepository(place.project);
  let kill: AbortController | undefined;
  const api = await startFakeApi({
    steps: toSteps(program, situation),
    logFolder: join(folder, 'api'),
    onExchange({ outcome }) {
      if (outcome === 'hung') setTimeout(() => kill?.abort(), BEFORE_KILL_MS);
    },
  });
  place.url = api.url;
  const environment = { ...toBaseEnvironment(place.home), ...(await program.prepare(place)) };
  const runs: SituationRun[] = [];
  try {
    for (const [index, turn] of toTurns(program, situation).entries()) {
      const answered = api.exchanges.length;
      await program.beforeTurn?.(turn, place);
      kill = turn.isKilled === true ? new AbortController() : undefined;
      const start = { command: installed.command, cwd: place.project, environment, timeoutMs: RUN_TIMEOUT_MS };
      const before = program.toArgumentsBefore?.(turn, runs);
      if (before !== undefined) await runProgram({ ...start, arguments: before });
      const words = program.toArguments(turn, runs, place);
      const run = await runProgram({ ...start, arguments: words, kill: kill?.signal });
      runs.push({ ...run, turn, exchanges: api.exchanges.slice(answered) });
      await writeFile(join(folder, `stdout-${index + 1}.txt`), run.stdout);
      await writeFile(join(folder, `stderr-${index + 1}.txt`), run.stderr);
      if (run.isLate) return result(`start ${index + 1} did not end within ${RUN_TIMEOUT_MS / 1000} s`);
    }
    const undone = findUndone(runs);
    if (undone !== undefined) return result(undone);
    const left = api.left();
    await writeFile(join(folder, 'other-requests.txt'), `${api.otherRequests.join('\n')}\n`);
    return result(left.length === 0 ? undefined : `it asked for less than the situation has: ${left.join(', ')}`);
  } catch (error) {
    return result(String(error instanceof Error ? error.message : error));
  } finally {
    await api.close();
  }

  function result(failure: string | undefined): SituationResult {
    const said = runs.map(({ exitCode, stderr }) => `exit code ${exitCode} ${stderr.trim().slice(-300)}`).join(' | ');
    const reason = failure === undefined ? undefined : `${failure} (${said})`;
    return { home: place.home, project: place.project, environment, runs, exchanges: api.exchanges, failure: reason };
  }
}

/** The turns with the program's own command for a compaction. */
const toTurns = ({ compactCommand }: Program, { turns }: Situation): Turn[] =>
  turns.map((turn) =>
    turn.isCompaction === true && compactCommand !== undefined ? { ...turn, prompt: compactCommand } : turn,
  );

function toSteps(program: Program, situation: Situation): Steps {
  const { [COMPACTION_MARKER]: prompted = [], ...steps } = situation.toSteps(program.tools);
  return prompted.length > 0 && program.compactCommand === undefined
    ? { ...steps, [COMPACTION_MARKER]: prompted }
    : steps;
}

/** A purpose of a turn that the program did not fulfil. */
function findUndone(runs: readonly SituationRun[]): string | undefined {
  for (const { turn, exchanges } of runs) {
    const isFast = exchanges.some(({ speed, serviceTier }) => (speed ?? serviceTier) !== undefined);
    if (turn.isFast === true && !isFast) return 'it did not ask for a fast answer';
    if (turn.isCompaction === true && !exchanges.some(({ isSummary }) => isSummary))
      return 'it did not ask for a summary';
  }
  return undefined;
}

/** An empty Git repository, to programs that look. */
export async function createRepository(folder: string): Promise<void> {
  const git = join(folder, '.git');
  for (const name of ['objects', 'refs/heads']) await mkdir(join(git, name), { recursive: true });
  await writeFile(join(git, 'HEAD'), 'ref: refs/heads/main\n');
  await writeFile(join(git, 'config'), '[core]\n\trepositoryformatversion = 0\n');
  await writeFile(join(folder, 'README.md'), '# A folder of the lab\n');
}
