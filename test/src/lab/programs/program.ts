import type { ProgramTools, Turn } from '../situations.ts';

/** A recount that receives telemetry (OTLP). */
export interface TelemetryTarget {
  /** Without a path. */
  url: string;
  key: string;
}

/** Variables of OpenTelemetry that docs/telemetry.md names. */
export const toOtlpEnvironment = ({ url, key }: TelemetryTarget): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
  OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/v1/otlp`,
  OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer ${key}`,
  OTEL_RESOURCE_ATTRIBUTES: 'host.name=lab',
});

/** The folders of a program's run. All folders are made for the run. */
export interface RunPlace {
  /** The program's empty home. */
  home: string;
  /** Its working directory, a Git repository. */
  project: string;
  /** The fake API, without a path. */
  url: string;
  /** The recount that gets its telemetry; undefined for none. */
  telemetry?: TelemetryTarget | undefined;
}

/** The output of an earlier start of the program in the same situation. */
export interface EarlierRun {
  turn: Turn;
  stdout: string;
}

/** A vendor's program and how to run it headless against the fake API. */
export interface Program {
  /** The agent's id in recount. */
  agent: string;
  label: string;
  /** Page of `docs/formats` about its files, without `.md`; defaults to the agent's id. */
  formatPage?: string;
  /** Its package on npm; its program is the package's only one, or the one of this name. */
  packageName: string;
  command: string;
  tools: ProgramTools;
  /** Writes its settings, and returns the variables of its environment. */
  prepare(place: RunPlace): Promise<Record<string, string>>;
  /** Arguments of a start without a prompt that prepares a turn, for example by making the fork. */
  toArgumentsBefore?(turn: Turn, earlier: readonly EarlierRun[]): string[] | undefined;
  /** Changes its settings before a start, for example so that it compacts the conversation. */
  beforeTurn?(turn: Turn, place: RunPlace): Promise<void>;
  /** Arguments of a start. `earlier` are the starts before it, the first one first. */
  toArguments(turn: Turn, earlier: readonly EarlierRun[], place: RunPlace): string[];
  /** The prompt that makes it compact a conversation; undefined if it has none, or not headless. */
  compactCommand?: string;
  /** It can send telemetry, which `prepare` turns on. */
  sendsTelemetry?: boolean;
  /** Its telemetry leaves out requests for a summary, which its sessions have. */
  tellsNoSummaries?: boolean;
  /** Its sessions do not say what a response used. */
  keepsNoTokens?: boolean;
  /** Its package downloads the program from elsewhere, which not every machine may. */
  downloadsItself?: boolean;
  /** Situations that the program cannot be put into, by id, with the reason. */
  notTried?: Readonly<Record<string, string>>;
  /** Recount reads what it prints as a live stream of this agent: `claude`, `codex` or `amp`. */
  liveAgent?: string;
  /** The stream's totals leave out sub-agents. */
  isLiveWithoutSubagents?: boolean;
}

/** A program that needs its vendor's login. It is named as not tried. */
export interface ClosedProgram {
  agent: string;
  label: string;
  reason: string;
}

/** The first value that a pattern's group finds in what the first start printed. */
export function findInFirst(earlier: readonly EarlierRun[], pattern: RegExp): string {
  const found = pattern.exec(earlier[0]?.stdout ?? '')?.[1];
  if (found === undefined) throw new Error('The first start named no session');
  return found;
}
