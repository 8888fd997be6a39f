import type { WorkspaceSettings } from '@recount/contract';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { type Body, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Form } from '../../ui/form.tsx';
import { Answered, Failure } from '../../ui/states.tsx';
import { Options } from './admin-forms.tsx';

const REDACTIONS = [
  ['off', 'Keep as is'],
  ['rows', 'Rows have [REDACTED] instead; raw transcripts stay'],
  ['rows-and-raw', 'A redacted copy also replaces the raw transcript'],
] as const;

const TEXT_READERS = [
  ['readers', 'Everyone whose key reads'],
  ['auditors', 'Only auditors'],
] as const;

/** The handling of secrets, the retention of texts and bytes, and who sees what. */
export function Settings(): ReactNode {
  const settings = useAnswer('/v1/settings', {});
  return (
    <section aria-labelledby="settings">
      <h2 id="settings">Privacy</h2>
      <Answered of={settings}>{(current) => <SettingsForm key={JSON.stringify(current)} current={current} />}</Answered>
    </section>
  );
}

const toNumber = (value: FormDataEntryValue | null): number | null =>
  value === null || value === '' ? null : Number(value);
const toText = (days: number | null): string => (days === null ? 'forever' : `${days} days`);

/** The deletions of a change, one sentence each. */
function toDeletions(current: WorkspaceSettings, next: WorkspaceSettings): string[] {
  const isShorter = (before: number | null, after: number | null): boolean =>
    after !== null && (before === null || after < before);
  return [
    ...(isShorter(current.rows_max_age_days, next.rows_max_age_days)
      ? [
          `Messages and texts are kept for ${toText(next.rows_max_age_days)}, not ${toText(current.rows_max_age_days)}: older ones are deleted within the hour. Figures stay.`,
        ]
      : []),
    ...(isShorter(current.raw_max_age_days, next.raw_max_age_days)
      ? [
          `Raw transcripts are kept for ${toText(next.raw_max_age_days)}, not ${toText(current.raw_max_age_days)}. Older ones are deleted within the hour, permanently.`,
        ]
      : []),
    ...(next.redaction === 'rows-and-raw' && current.redaction !== 'rows-and-raw'
      ? ['Redacted copies replace raw transcripts from now on. The originals cannot be restored.']
      : []),
  ];
}

function readSettings(form: HTMLFormElement): WorkspaceSettings {
  const data = new FormData(form);
  return {
    redaction: data.get('redaction') as WorkspaceSettings['redaction'],
    rows_max_age_days: toNumber(data.get('rows')),
    raw_max_age_days: toNumber(data.get('raw')),
    text_readers: data.get('text_readers') as WorkspaceSettings['text_readers'],
    names_from_people: toNumber(data.get('people')),
  };
}

function SettingsForm({ current }: { current: WorkspaceSettings }): ReactNode {
  const [asked, setAsked] = useState<WorkspaceSettings>();
  const save = useMutation({
    mutationFn: (body: Body<'/v1/settings', 'put'>) => send('put', '/v1/settings', { body }),
    onSuccess: () => queryClient.invalidateQueries(),
    onSettled: () => setAsked(undefined),
  });
  const submit = (form: HTMLFormElement): void => {
    const next = readSettings(form);
    if (toDeletions(current, next).length > 0) setAsked(next);
    else save.mutate(next);
  };
  return (
    <Form className="admin-form" submit={submit}>
      <label>
        Detected secrets
        <select name="redaction" defaultValue={current.redaction}>
          <Options of={REDACTIONS} />
        </select>
      </label>
      <label>
        Delete message content after this many days of inactivity (empty: never). Usage figures are kept.
        <input name="rows" type="number" min={1} max={36500} defaultValue={current.rows_max_age_days ?? ''} />
      </label>
      <label>
        Delete raw transcripts after this many days of inactivity (empty: never)
        <input name="raw" type="number" min={1} max={36500} defaultValue={current.raw_max_age_days ?? ''} />
      </label>
      <label>
        Who sees the texts of others’ sessions
        <select name="text_readers" defaultValue={current.text_readers}>
          <Options of={TEXT_READERS} />
        </select>
      </label>
      <label>
        Show names only of people in teams of at least this many (empty: always), and of these teams. All others are
        pseudonyms.
        <input name="people" type="number" min={1} max={100000} defaultValue={current.names_from_people ?? ''} />
      </label>
      {asked === undefined ? (
        <button type="submit" disabled={save.isPending}>
          Save
        </button>
      ) : (
        <Confirmation
          deletions={toDeletions(current, asked)}
          save={() => save.mutate(asked)}
          cancel={() => setAsked(undefined)}
        />
      )}
      {save.isSuccess && <p role="status">Saved.</p>}
      {save.error !== null && <Failure error={save.error} />}
    </Form>
  );
}

interface ConfirmationProps {
  deletions: readonly string[];
  save: () => void;
  cancel: () => void;
}

const Confirmation = ({ deletions, save, cancel }: ConfirmationProps): ReactNode => (
  <div className="caveats" role="alert">
    {deletions.map((line) => (
      <p key={line}>{line}</p>
    ))}
    <div className="row">
      <button type="button" className="danger" onClick={save}>
        Save, and delete what is older
      </button>
      <button type="button" onClick={cancel}>
        Cancel
      </button>
    </div>
  </div>
);
