{{- define "millrace.name" -}}
{{- if contains "millrace" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-millrace{{ end }}
{{- end }}

{{- define "millrace.labels" -}}
app.kubernetes.io/name: millrace
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "millrace.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* What every pod has: (dict "root" $ "config" the settings of its own). */}}
{{- define "millrace.environment" -}}
envFrom:
  - secretRef:
      name: {{ .root.Values.secretName }}
env:
  {{- range $name, $value := merge (dict) .config .root.Values.config }}
  - name: {{ $name }}
    value: {{ $value | toString | quote }}
  {{- end }}
  {{- if .root.Values.temporalTls.secretName }}
  - { name: TEMPORAL_TLS_CA_FILE, value: /etc/millrace/temporal/ca.crt }
  - { name: TEMPORAL_TLS_CERT_FILE, value: /etc/millrace/temporal/tls.crt }
  - { name: TEMPORAL_TLS_KEY_FILE, value: /etc/millrace/temporal/tls.key }
  {{- with .root.Values.temporalTls.serverName }}
  - { name: TEMPORAL_TLS_SERVER_NAME, value: {{ . | quote }} }
  {{- end }}
  {{- end }}
{{- end }}

{{- define "millrace.container" -}}
image: {{ include "millrace.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  # Documents and code are worked on in processes that use it.
  - { name: tmp, mountPath: /tmp }
  {{- if .Values.blobs.existingClaim }}
  - { name: blobs, mountPath: /var/lib/millrace }
  {{- end }}
  {{- if .Values.temporalTls.secretName }}
  - { name: temporal-tls, mountPath: /etc/millrace/temporal, readOnly: true }
  {{- end }}
  {{- if .Values.databaseFiles.secretName }}
  - { name: database-files, mountPath: /etc/millrace/database, readOnly: true }
  {{- end }}
{{- end }}

{{- define "millrace.pod" -}}
automountServiceAccountToken: false
# Kubernetes would add variables for each service here: one named millrace-worker makes a MILLRACE_WORKER_PORT.
enableServiceLinks: false
# The grace time of the processes (MILLRACE_SHUTDOWN_GRACE_MS), and then some.
terminationGracePeriodSeconds: 40
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  {{- with .Values.blobs.existingClaim }}
  - name: blobs
    persistentVolumeClaim: { claimName: {{ . }} }
  {{- end }}
  {{- with .Values.temporalTls.secretName }}
  - name: temporal-tls
    secret: { secretName: {{ . }} }
  {{- end }}
  {{- with .Values.databaseFiles.secretName }}
  - name: database-files
    secret: { secretName: {{ . }} }
  {{- end }}
{{- end }}
