import type { DismissalSubject, FindingsReport } from '@recount/contract';
import { KINDS_WITHOUT_TOOL } from '@recount/contract/choices';
import { toVisible } from '@recount/contract/conversation';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Body, send } from '../../server-data/client.ts';
import { queryClient } from '../../server-data/use-answer.ts';
import { FormDialog } from '../../ui/form.tsx';
import { KINDS } from './finding-kinds.ts';

type Finding = FindingsReport['rows'][number];
type Subject = { type: DismissalSubject; name: string; label: string };

const MAX_REASON_LENGTH = 300;

/** The subjects that a finding can be dismissed for; the narrowest first. */
function toSubjects({ kind, session_id, title, tool, repository, person }: Finding): Subject[] {
  const subjects: (Subject | undefined)[] = [
    { type: 'session', name: session_id, label: `This session: ${title ?? session_id}` },
    tool === null || KINDS_WITHOUT_TOOL.includes(kind)
      ? undefined
      : { type: 'tool', name: tool, label: `All calls of the tool ${tool}` },
    repository === null
      ? undefined
      : { type: 'repository', name: repository, label: `All sessions of the repository ${repository}` },
    person === null ? undefined : { type: 'person', name: person, label: `All sessions of ${person}` },
  ];
  return subjects.filter((subject) => subject !== undefined);
}

/** The form that dismisses a finding, and others of its kind. */
export function DismissDialog({ finding, close }: { finding: Finding; close: () => void }): ReactNode {
  const subjects = toSubjects(finding);
  const dismissal = useMutation({
    mutationFn: (body: Body<'/v1/findings/dismissals', 'post'>) => send('post', '/v1/findings/dismissals', { body }),
    onSuccess: async () => {
      await queryClient.invalidateQueries();
      close();
    },
  });
  const submit = (form: HTMLFormElement): void => {
    const data = new FormData(form);
    const subject = subjects.find(({ type }) => type === data.get('subject'));
    if (subject === undefined) return;
    const reason = String(data.get('reason') ?? '').trim();
    dismissal.mutate({
      ...{ kind: finding.kind, subject_type: subject.type, subject: subject.name },
      ...(reason !== '' && { reason }),
    });
  };
  return (
    <FormDialog
      title={`Dismiss: ${KINDS[finding.kind].label}`}
      label="Dismiss"
      of={dismissal}
      submit={submit}
      close={close}
    >
      <fieldset className="dismiss-subjects">
        <legend>Findings of</legend>
        {subjects.map(({ type, label }, index) => (
          <label key={type}>
            <input type="radio" name="subject" value={type} defaultChecked={index === 0} /> {toVisible(label)}
          </label>
        ))}
      </fieldset>
      <label>
        Reason (optional)
        <input name="reason" maxLength={MAX_REASON_LENGTH} placeholder="Why nothing needs to be done" />
      </label>
      <p className="muted">
        For everyone in this workspace, later findings included. They leave the list and potential waste, which say how
        much is dismissed, and can be restored.
      </p>
    </FormDialog>
  );
}
