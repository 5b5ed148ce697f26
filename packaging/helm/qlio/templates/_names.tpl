{{- define "qlio.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "qlio.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "qlio.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "qlio.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "qlio.selector" -}}
app.kubernetes.io/name: {{ include "qlio.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "qlio.labels" -}}
{{ include "qlio.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{/* The settings: those of the app, and the cache that all instances share. */}}
{{- define "qlio.settings" -}}
{{- $settings := deepCopy .Values.app.settings -}}
{{- with .Values.cache -}}
{{- if .enabled -}}
{{- if and .url .cluster }}{{ fail "cache: either `url` or `cluster`" }}{{ end -}}
{{- if not (or .url .cluster) }}{{ fail "cache.enabled needs `url` or `cluster`" }}{{ end -}}
{{- $options := dict -}}
{{- if .url -}}
{{- $options = dict "config" .url -}}
{{- else -}}
{{- $options = dict "config" .cluster "options" (dict "cluster" true) -}}
{{- end -}}
{{- $settings = merge (dict "cache" (dict "impl" "redis" "options" $options)) $settings -}}
{{- end -}}
{{- end -}}
{{- toPrettyJson $settings -}}
{{- end }}

{{- define "qlio.adminSecret" -}}
{{- default (printf "%s-admin" (include "qlio.fullname" .)) .Values.admin.existingSecret -}}
{{- end }}
