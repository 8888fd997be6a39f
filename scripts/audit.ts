import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** If no registry answers, the check says so and passes, because a check that fails offline is soon switched off. */
const FAILING_SEVERITIES = ['high', 'critical'];
const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

interface Advisory {
  severity: string;
  module_name: string;
  title: string;
  url: string;
}

interface AuditReport {
  advisories?: Record<string, Advisory>;
  metadata?: unknown;
  error?: { code?: string };
}

async function runAudit(root: string): Promise<AuditReport | undefined> {
  const options = { timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES, cwd: root };
  // It exits with 1 if it found something; the findings are in its output in either case.
  const { stdout } = await promisify(execFile)('pnpm', ['audit', '--prod', '--json'], options).catch(
    (error: unknown) =>
      typeof error === 'object' && error !== null && 'stdout' in error
        ? { stdout: String(error.stdout) }
        : { stdout: '' },
  );
  return parseReport(stdout);
}

function parseReport(output: string): AuditReport | undefined {
  try {
    const report = JSON.parse(output) as AuditReport;
    return report.metadata === undefined ? undefined : report;
  } catch {
    return undefined;
  }
}

/** True if no runtime dependency has a known vulnerability of severity high or above, according to the registry. */
export async function auditDependencies(root: string): Promise<{ passes: boolean; output: string }> {
  const report = await runAudit(root);
  if (report === undefined) return { passes: true, output: 'audit: no registry answered; nothing was checked\n' };
  const advisories = Object.values(report.advisories ?? {});
  const failing = advisories.filter(({ severity }) => FAILING_SEVERITIES.includes(severity));
  const lines = [
    ...advisories.map(({ severity, module_name, title, url }) => `${severity}: ${module_name}: ${title} (${url})`),
    `audit: ${advisories.length} advisories, ${failing.length} of severity high and above`,
  ];
  return { passes: failing.length === 0, output: `${lines.join('\n')}\n` };
}
