import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { compareSituation } from './compare-situation.ts';
import { type InstalledProgram, installProgram } from './install.ts';
import type { ClosedProgram, Program } from './programs/program.ts';
import { runSituation } from './run-situation.ts';
import type { Situation } from './situations.ts';
import type { Store } from './store.ts';
import type { AgentResult, Cell } from './table.ts';

export interface LabOptions {
  programs: readonly Program[];
  closedPrograms: readonly ClosedProgram[];
  situations: readonly Situation[];
  /** The version to run; undefined means the newest one. */
  version: string | undefined;
  /** Runs what is installed already, and asks npm for nothing. */
  isOffline: boolean;
  /** Gets a folder for each agent, version and situation. */
  folder: string;
  /** Keeps what the programs wrote. */
  keep: boolean;
  /** The target for uploads of their sessions; undefined means nowhere. */
  store: Store | undefined;
  /** Programs that can send telemetry send it to the store. */
  hasTelemetry: boolean;
  onProgress(text: string): void;
}

const DOWNLOADS = 'its package downloads the program from elsewhere, which failed';

/** Runs each program through each situation, one after the other. */
export async function runLab(options: LabOptions): Promise<AgentResult[]> {
  const results: AgentResult[] = [];
  for (const program of options.programs) results.push(await runAgent(program, options));
  const closed = options.closedPrograms.map((program) => ({ ...program, version: undefined, cells: [] }));
  return [...results, ...closed];
}

async function runAgent(program: Program, options: LabOptions): Promise<AgentResult> {
  const { agent, label } = program;
  let installed: InstalledProgram;
  try {
    options.onProgress(`${label}: installing`);
    installed = await installProgram(program, options);
  } catch (error) {
    const reason = `could not be installed: ${firstLine(error)}`;
    if (program.downloadsItself === true)
      return { agent, label, version: options.version, cells: [], reason: DOWNLOADS };
    const cells = options.situations.map(({ id }) => toCell(program, id, { verdict: 'failed', reason }));
    return { agent, label, version: options.version, cells, reason };
  }
  const { version, skippedVersions } = installed;
  const reason = skippedVersions.length > 0 ? `npm could not install ${skippedVersions.join(', ')}` : undefined;
  const cells: Cell[] = [];
  for (const situation of options.situations) {
    const cell = await runCell(program, installed, situation, options);
    cells.push(cell);
    options.onProgress(describeCell(label, version, situation, cell));
  }
  return { agent, label, version, cells, reason };
}

async function runCell(
  program: Program,
  installed: InstalledProgram,
  situation: Situation,
  options: LabOptions,
): Promise<Cell> {
  const notTried = program.notTried?.[situation.id];
  if (notTried !== undefined) return toCell(program, situation.id, { verdict: 'not tried', reason: notTried });
  const folder = join(options.folder, program.agent, installed.version, situation.id);
  try {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    const hasTelemetry = options.hasTelemetry && program.sendsTelemetry === true;
    const target = hasTelemetry ? options.store?.telemetry : undefined;
    const result = await runSituation(program, installed, situation, folder, target);
    if (result.failure !== undefined)
      return toCell(program, situation.id, { verdict: 'failed', reason: result.failure });
    const compared = await compareSituation(program, situation, result, options.store, hasTelemetry);
    return toCell(program, situation.id, {
      verdict: compared.differences.length === 0 ? 'right' : 'wrong',
      ...compared,
    });
  } catch (error) {
    return toCell(program, situation.id, { verdict: 'failed', reason: firstLine(error) });
  } finally {
    if (!options.keep) await rm(folder, { recursive: true, force: true });
  }
}

const toCell = ({ agent }: Program, situation: string, cell: Pick<Cell, 'verdict'> & Partial<Cell>): Cell => ({
  agent,
  situation,
  differences: [],
  unwritten: [],
  ...cell,
});

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n').slice(0, 6).join(' ').slice(0, 600);

function describeCell(label: string, version: string, { label: name }: Situation, cell: Cell): string {
  const head = `${label} ${version}, ${name}: ${cell.verdict}`;
  const reason = cell.reason === undefined ? [] : [`  ${cell.reason}`];
  const unwritten = cell.unwritten.map(({ number, marker }) => `${number} (${marker ?? 'of its own'})`);
  const note = unwritten.length === 0 ? [] : [`  not written down by the program: answers ${unwritten.join(', ')}`];
  const only = cell.onlyTelemetry ?? [];
  const said = cell.onlyTelemetry === undefined ? [] : [`  only in telemetry: ${only.join(', ') || 'nothing'}`];
  return [head, ...reason, ...cell.differences.map(({ way, text }) => `  ${way}: ${text}`), ...note, ...said].join(
    '\n',
  );
}
