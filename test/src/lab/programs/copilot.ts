import { findInFirst, type Program, toOtlpEnvironment } from './program.ts';

export const copilot: Program = {
  agent: 'copilot',
  label: 'Copilot CLI',
  packageName: '@github/copilot',
  command: 'copilot',
  compactCommand: '/compact',
  sendsTelemetry: true,
  tellsNoSummaries: true,
  tools: {
    shell: (command) => ({ name: 'bash', input: { command, description: 'Run a command of the lab' } }),
    agent: (prompt) => ({
      name: 'task',
      input: { agent_type: 'general-purpose', description: 'Do a part', name: 'part', prompt, mode: 'sync' },
    }),
  },
  // A provider of one's own needs no login.
  prepare: async ({ url, telemetry }) => ({
    COPILOT_PROVIDER_BASE_URL: url,
    COPILOT_PROVIDER_TYPE: 'anthropic',
    COPILOT_PROVIDER_API_KEY: 'sk-ant-lab',
    COPILOT_MODEL: 'claude-sonnet-4.6',
    COPILOT_OFFLINE: 'true',
    COPILOT_AUTO_UPDATE: 'false',
    ...(telemetry !== undefined && { ...toOtlpEnvironment(telemetry), COPILOT_OTEL_ENABLED: 'true' }),
  }),
  toArguments(turn, earlier) {
    const id = () => findInFirst(earlier, /"sessionId":"([^"]+)"/);
    const session = {
      new: () => [],
      continue: () => ['--continue'],
      resume: () => [`--resume=${id()}`],
      fork: () => [],
    }[turn.start]();
    return [...session, '--allow-all', '--output-format', 'json', '--log-level', 'none', '-p', turn.prompt];
  },
  notTried: { fork: 'it forks only interactively', fast: 'it has no fast tier of that kind' },
};
