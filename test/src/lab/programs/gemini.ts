import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findInFirst, type Program, type RunPlace, toOtlpEnvironment } from './program.ts';

async function writeSettings({ home, telemetry }: RunPlace, more: object): Promise<void> {
  const settings = {
    security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    privacy: { usageStatisticsEnabled: false },
    telemetry:
      telemetry === undefined
        ? { enabled: false }
        : {
            ...{ enabled: true, target: 'local', otlpProtocol: 'http', logPrompts: false },
            otlpEndpoint: `${telemetry.url}/v1/otlp`,
          },
    ...more,
  };
  await writeFile(join(home, '.gemini/settings.json'), JSON.stringify(settings));
}

export const gemini: Program = {
  agent: 'gemini',
  label: 'Gemini CLI',
  packageName: '@google/gemini-cli',
  command: 'gemini',
  tools: {
    shell: (command) => ({ name: 'run_shell_command', input: { command, description: 'Run a command of the lab' } }),
    agent: (prompt) => ({ name: 'invoke_agent', input: { agent_name: 'generalist', prompt } }),
  },
  sendsTelemetry: true,
  async prepare(place) {
    const { home, url, telemetry } = place;
    await mkdir(join(home, '.gemini'), { recursive: true });
    await writeSettings(place, {});
    const otlp = telemetry === undefined ? {} : toOtlpEnvironment(telemetry);
    return { GEMINI_API_KEY: 'lab', GOOGLE_GEMINI_BASE_URL: url, ...otlp };
  },
  // The share of the context that makes it compress the conversation.
  beforeTurn: (turn, place) =>
    writeSettings(place, turn.isCompaction === true ? { model: { compressionThreshold: 0.000_01 } } : {}),
  toArguments(turn, earlier) {
    const id = () => findInFirst(earlier, /"session_id":"([^"]+)"/);
    const session = {
      new: () => [],
      continue: () => ['--resume', 'latest'],
      resume: () => ['--resume', id()],
      fork: () => [],
    }[turn.start]();
    return ['--yolo', '--output-format', 'stream-json', ...session, '-m', 'gemini-3-pro-preview', '-p', turn.prompt];
  },
  notTried: { fork: 'it has no fork', fast: 'it has no fast tier' },
};
