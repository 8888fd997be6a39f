import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findInFirst, type Program, toOtlpEnvironment } from './program.ts';

const PRINT = ['-p', '--output-format', 'stream-json', '--verbose', '--dangerously-skip-permissions'];

export const claudeCode: Program = {
  agent: 'claude-code',
  label: 'Claude Code',
  packageName: '@anthropic-ai/claude-code',
  command: 'claude',
  liveAgent: 'claude',
  compactCommand: '/compact',
  sendsTelemetry: true,
  tools: {
    shell: (command) => ({ name: 'Bash', input: { command, description: 'Run a command of the lab' } }),
    agent: (prompt) => ({
      name: 'Agent',
      input: { description: 'Do a part', prompt, subagent_type: 'general-purpose', run_in_background: false },
    }),
  },
  async prepare({ home, url, telemetry }) {
    await mkdir(join(home, '.claude'), { recursive: true });
    await writeFile(join(home, '.claude/settings.json'), JSON.stringify({ fastMode: false }));
    return {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'sk-ant-lab',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
      // The lab runs as root in containers.
      IS_SANDBOX: '1',
      ...(telemetry !== undefined && {
        ...toOtlpEnvironment(telemetry),
        CLAUDE_CODE_ENABLE_TELEMETRY: '1',
        OTEL_LOGS_EXPORTER: 'otlp',
        OTEL_METRICS_EXPORTER: 'otlp',
      }),
    };
  },
  toArguments(turn, earlier) {
    const id = () => findInFirst(earlier, /"session_id":"([^"]+)"/);
    const session = {
      new: () => [],
      continue: () => ['--continue'],
      resume: () => ['--resume', id()],
      fork: () => ['--resume', id(), '--fork-session'],
    }[turn.start]();
    const fast = turn.isFast === true ? ['--settings', '{"fastMode":true}'] : [];
    return [...PRINT, ...session, ...fast, turn.prompt];
  },
};
