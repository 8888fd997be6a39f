import type { DoctorReport, MaintenanceCheck, VerifyReport } from '@recount/contract';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { formatCount } from '../../format/values.ts';
import { send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { DialogButtons } from '../../ui/dialog-buttons.tsx';
import { Time } from '../../ui/figures.tsx';
import { Modal } from '../../ui/modal.tsx';
import { Answered, Failure } from '../../ui/states.tsx';
import { groupFindings, hasRepairable } from './finding-words.ts';

const RUNNING_INTERVAL_MS = 1000;
const IDLE_INTERVAL_MS = 15_000;

interface CheckKind {
  kind: MaintenanceCheck['kind'];
  scope: MaintenanceCheck['scope'];
  title: string;
  about: string;
  action: string;
}

const DOCTOR: CheckKind = {
  kind: 'doctor',
  scope: 'workspace',
  title: 'Storage check',
  about:
    'Compares raw store, database and queue. Does every transcript have its raw object, and every waiting one a job? Changes nothing.',
  action: 'Run check',
};
const VERIFY: CheckKind = {
  kind: 'verify',
  scope: 'workspace',
  title: 'Recount',
  about:
    'Recomputes all figures from their source rows, and compares each. Changes nothing, and takes a while in a large workspace; uploads continue. recount verify, on the server, also compares the rows with the raw transcripts.',
  action: 'Run recount',
};
const INSTALLATION: CheckKind = {
  ...DOCTOR,
  scope: 'installation',
  title: 'Storage check, all workspaces',
  about: 'The same for the whole installation, including what belongs to no workspace.',
};

/**
 * Checks whether everything is present and correct. It is started here and run by the server, with or without a viewer.
 */
export function Checks(): ReactNode {
  const whoami = useAnswer('/v1/whoami', {});
  const list = useAnswer(
    '/v1/checks',
    {},
    {
      refetchIntervalMs: (answer) =>
        answer?.checks.some(({ state }) => state === 'running') ? RUNNING_INTERVAL_MS : IDLE_INTERVAL_MS,
    },
  );
  const kinds = whoami.data?.scopes.includes('operator') ? [DOCTOR, VERIFY, INSTALLATION] : [DOCTOR, VERIFY];
  return (
    <section aria-labelledby="checks">
      <h2 id="checks">Checks</h2>
      <p className="muted">
        The server runs them: you may leave this page. <code>recount doctor --checksums --deep</code>, on the server,
        also reads all bytes of the store and all tables.
      </p>
      <Answered of={list}>
        {({ checks }) =>
          kinds.map((about) => (
            <Check
              key={about.title}
              about={about}
              check={checks.find(({ kind, scope }) => kind === about.kind && scope === about.scope)}
            />
          ))
        }
      </Answered>
    </section>
  );
}

function Check({ about, check }: { about: CheckKind; check: MaintenanceCheck | undefined }): ReactNode {
  const { kind, scope, title } = about;
  const [isAsked, setIsAsked] = useState(false);
  const start = useMutation({
    mutationFn: (fix: boolean) => send('post', '/v1/checks', { body: { kind, scope, fix } }),
    onSettled: async () => {
      setIsAsked(false);
      await queryClient.invalidateQueries({ queryKey: ['/v1/checks'] });
    },
  });
  const isRunning = check?.state === 'running';
  const id = `${kind}-${scope}`;
  return (
    <section className="panel check" aria-labelledby={id}>
      <div className="between">
        <h3 id={id}>{title}</h3>
        <div className="row">
          {!isRunning && check?.doctor != null && hasRepairable(check.doctor) && (
            <button type="button" disabled={start.isPending} onClick={() => setIsAsked(true)}>
              Repair …
            </button>
          )}
          <button
            type="button"
            className="primary"
            disabled={isRunning || start.isPending}
            onClick={() => start.mutate(false)}
          >
            {about.action}
            <span className="hidden-label"> ({title})</span>
          </button>
        </div>
      </div>
      <p className="muted">{about.about}</p>
      <div role="status">
        {check !== undefined && <Standing check={check} />}
        {check?.doctor != null && <DoctorResult report={check.doctor} at={check.report_at} />}
        {check?.verify != null && <VerifyResult report={check.verify} at={check.report_at} />}
      </div>
      {start.error !== null && <Failure error={start.error} />}
      {isAsked && (
        <Modal title="Repair what can be repaired?" close={() => setIsAsked(false)}>
          <p>
            Checks everything again, and receives raw objects without a transcript as uploads, enqueues lost jobs,
            completes interrupted deletions, and marks lost bytes so that the next backfill uploads them. Anything
            younger than an hour is skipped. The audit log records what was done.
          </p>
          <DialogButtons
            label="Repair it"
            act={() => start.mutate(true)}
            of={{ isPending: start.isPending, error: null }}
            close={() => setIsAsked(false)}
          />
        </Modal>
      )}
    </section>
  );
}

const STEPS: Readonly<Record<string, string>> = {
  beginning: 'Beginning',
  store: 'Writing to the raw store',
  deletions: 'Interrupted deletions',
  objects: 'Objects in the raw store',
  transcripts: 'Raw objects of transcripts',
  streams: 'Raw objects of streams',
  attachments: 'Attachments',
  notices: 'What is not read',
  search: 'Search',
  database: 'Tables and indexes',
  repairs: 'Repairs',
  comparing: 'Figures compared',
};

/** The progress of a check; if it did not finish, the reason. */
function Standing({ check }: { check: MaintenanceCheck }): ReactNode {
  const { state, step, done, total, failure_reason: reason, ended_at: endedAt, kind } = check;
  if (state === 'done') return null;
  if (state !== 'running') {
    return (
      <p className="caveats">
        The last one {state === 'failed' ? 'failed' : 'was interrupted'} <Time iso={endedAt} />
        {reason === null ? ': its process ended.' : `: ${reason}.`} The findings below are older. Start it again.
      </p>
    );
  }
  const name = STEPS[step] ?? (kind === 'verify' ? `Counting ${step.replaceAll('_', ' ')}` : step);
  return (
    <>
      <progress aria-label={name} {...(total !== null && total > 0 && { value: Math.min(done, total), max: total })} />
      <p>
        {name}
        {total !== null ? `: ${formatCount(done)} of ${formatCount(total)}` : done > 0 ? `: ${formatCount(done)}` : ''}{' '}
        …
      </p>
    </>
  );
}

function DoctorResult({ report, at }: { report: DoctorReport; at: string | null }): ReactNode {
  const { findings, findingCount, needAttention, checked, skipped } = report;
  const left = skipped.youngObjects + skipped.youngJobs;
  return (
    <>
      <p>
        {findingCount === 0 ? (
          <strong>No problems found.</strong>
        ) : (
          <strong>
            {formatCount(findingCount)} {findingCount === 1 ? 'finding' : 'findings'},{' '}
            {needAttention === 0
              ? 'none needs'
              : `${formatCount(needAttention)} ${needAttention === 1 ? 'needs' : 'need'}`}{' '}
            attention.
          </strong>
        )}{' '}
        <span className="muted">
          <Time iso={at} />: {formatCount(checked.transcripts)} transcripts, {formatCount(checked.streams)} streams and{' '}
          {formatCount(checked.objects)} objects in the store
          {left > 0 && `; ${formatCount(left)} younger than an hour were left out, as their upload may be in progress`}.
        </span>
      </p>
      {findings.length > 0 && (
        <ul className="finding-groups">
          {groupFindings(report).map((group) => (
            <li key={group.id}>
              <p>
                <span className={group.isSerious ? 'tag error' : 'tag'}>{formatCount(group.count)}</span>{' '}
                <strong>{group.what}</strong>
              </p>
              <p>{group.todo}</p>
              <p className="muted">
                {group.transcriptIds.map((transcript) => (
                  <span key={transcript}>
                    <Link to="/uploads" search={{ transcript } as never}>
                      {transcript}
                    </Link>{' '}
                  </span>
                ))}
                {group.names.map((name) => (
                  <span key={name}>
                    <code>{name}</code>{' '}
                  </span>
                ))}
                {group.count > group.transcriptIds.length + group.names.length &&
                  group.transcriptIds.length + group.names.length > 0 &&
                  'and others'}
              </p>
            </li>
          ))}
        </ul>
      )}
      {findingCount > findings.length && (
        <p className="muted">The first {formatCount(findings.length)} are shown; the command prints all.</p>
      )}
    </>
  );
}

function VerifyResult({ report: { tables }, at }: { report: VerifyReport; at: string | null }): ReactNode {
  const wrong = tables.filter(({ missing, surplus }) => missing + surplus > 0);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return (
    <>
      <p>
        <strong>
          {wrong.length === 0
            ? 'Every figure equals a full recount.'
            : `${wrong.length === 1 ? 'One table differs' : `${formatCount(wrong.length)} tables differ`} from a full recount.`}
        </strong>{' '}
        <span className="muted">
          <Time iso={at} />: {formatCount(rows)} rows in {formatCount(tables.length)} tables.
        </span>
      </p>
      {wrong.length > 0 && (
        <>
          <ul className="finding-groups">
            {wrong.map(({ table, missing, surplus }) => (
              <li key={table}>
                <code>{table}</code>: {formatCount(missing)} rows are missing, {formatCount(surplus)} should not be
                there.
              </li>
            ))}
          </ul>
          <p>
            <code>recount verify --rebuild</code>, on the server, rebuilds them from their source rows.
          </p>
        </>
      )}
    </>
  );
}
