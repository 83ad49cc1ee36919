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

{{/* What cannot work is refused here: helm install says it, and nothing is changed. */}}
{{- define "millrace.check" -}}
{{- $blobs := .Values.config.MILLRACE_BLOB_URL | default "" | toString }}
{{- if not (hasPrefix "s3://" $blobs) }}
{{- if not .Values.blobs.existingClaim }}
{{- fail (printf "config.MILLRACE_BLOB_URL is %s, and each pod would have a directory of its own: set blobs.existingClaim to a claim that all pods may write, or use a bucket (s3://…)." ($blobs | default "unset")) }}
{{- end }}
{{- if not (regexMatch "^((file://)?/var/lib/millrace(/|$)|$)" $blobs) }}
{{- fail (printf "config.MILLRACE_BLOB_URL is %s, and the claim is mounted at /var/lib/millrace: use /var/lib/millrace/blobs." $blobs) }}
{{- end }}
{{- end }}
{{- end }}

{{/* What follows from other values. `config` takes precedence. */}}
{{- define "millrace.derived" -}}
{{- with .Values.api.ingress }}
{{- if .enabled }}
MILLRACE_PUBLIC_URL: {{ printf "%s://%s" (ternary "https" "http" (ne .tlsSecretName "")) .host | quote }}
{{- with .trustedProxies }}
MILLRACE_TRUSTED_PROXIES: {{ join "," . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* What every pod has: (dict "root" $ "config" the settings of its own). */}}
{{- define "millrace.environment" -}}
envFrom:
  - secretRef:
      name: {{ .root.Values.secretName }}
env:
  {{- $derived := include "millrace.derived" .root | fromYaml }}
  {{- range $name, $value := merge (dict) .config .root.Values.config $derived }}
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
  {{- range .Values.files }}
  - { name: {{ printf "files-%s" .name }}, mountPath: {{ printf "/etc/millrace/files/%s" .name }}, readOnly: true }
  {{- end }}
{{- end }}

{{- define "millrace.pod" -}}
automountServiceAccountToken: false
# Kubernetes would add variables for each service here: one named millrace-worker makes a MILLRACE_WORKER_PORT.
enableServiceLinks: false
# The drain of an api (MILLRACE_DRAIN_MS), the grace time of the processes (MILLRACE_SHUTDOWN_GRACE_MS), and then some.
terminationGracePeriodSeconds: 45
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
    emptyDir: { sizeLimit: {{ .Values.tmp.sizeLimit }} }
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
  {{- range .Values.files }}
  - name: {{ printf "files-%s" .name }}
    {{- if .secretName }}
    secret: { secretName: {{ .secretName }} }
    {{- else }}
    configMap: { name: {{ .configMapName }} }
    {{- end }}
  {{- end }}
{{- end }}

{{/* Spreads the pods of one component: (dict "root" $ "component" its name). */}}
{{- define "millrace.spread" -}}
{{- with .root.Values.topologyKeys }}
topologySpreadConstraints:
  {{- range . }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "millrace.labels" $.root | nindent 8 }}
        app.kubernetes.io/component: {{ $.component }}
  {{- end }}
{{- end }}
{{- end }}
