"""Looks at what the chart has made of `cases/*.yaml`: `check.py FOLDER` with one rendered file for each.

Only what a mistake in a template would break: which objects there are, and that what belongs together has one name.
"""

import json
import os
import pathlib
import sys

try:
    import yaml
except ImportError:
    print("check.py: PyYAML is not installed; the rendered objects are not looked at", file=sys.stderr)
    sys.exit(1 if os.environ.get("CI") else 0)


def objects(folder: pathlib.Path, case: str) -> dict:
    documents = yaml.safe_load_all((folder / f"{case}.yaml").read_text())
    return {(one["kind"], one["metadata"]["name"]): one for one in documents if one}


def container(found: dict) -> dict:
    return found["Deployment", "release-qlio"]["spec"]["template"]["spec"]["containers"][0]


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    plain, full, outside = (objects(folder, case) for case in ("plain", "full", "outside"))
    common = {
        ("ConfigMap", "release-qlio-settings"),
        ("ConfigMap", "release-qlio-tables"),
        ("ConfigMap", "release-qlio-routes"),
        ("Secret", "release-qlio-admin"),
        ("Deployment", "release-qlio"),
        ("Service", "release-qlio"),
        ("PodDisruptionBudget", "release-qlio"),
    }
    assert set(plain) == common, set(plain)
    assert set(full) == common | {
        ("HorizontalPodAutoscaler", "release-qlio"),
        ("NetworkPolicy", "release-qlio"),
        ("ServiceMonitor", "release-qlio"),
        ("Service", "release-qlio-admin"),
    }, set(full)
    assert set(outside) == {
        ("ConfigMap", "release-qlio-settings"),
        ("Deployment", "release-qlio"),
        ("Service", "release-qlio"),
    }, set(outside)

    for found in (plain, full, outside):
        pod = found["Deployment", "release-qlio"]["spec"]["template"]
        selector = found["Service", "release-qlio"]["spec"]["selector"]
        assert selector.items() <= pod["metadata"]["labels"].items()
        probes = [container(found)[name]["httpGet"]["path"] for name in ("livenessProbe", "readinessProbe")]
        assert probes == ["/livez", "/readyz"], probes
        security = container(found)["securityContext"]
        assert security["readOnlyRootFilesystem"] and security["capabilities"]["drop"] == ["ALL"]
        mounted = {mount["name"] for mount in container(found)["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["spec"]["volumes"]}, mounted

    settings = json.loads(full["ConfigMap", "release-qlio-settings"]["data"]["qlio.json"])
    assert settings["timeout"] == 2000 and settings["cache"]["impl"] == "redis", settings
    assert "${CACHE_PASSWORD}" in settings["cache"]["options"]["config"], settings
    assert "stations" in full["ConfigMap", "release-qlio-routes"]["data"]["stations.ql"]
    names = [variable["name"] for variable in container(full)["env"]]
    assert names == ["QLIO_ADMIN_TOKEN", "CACHE_PASSWORD", "API_KEY"], names
    assert "replicas" not in full["Deployment", "release-qlio"]["spec"]
    assert plain["Deployment", "release-qlio"]["spec"]["replicas"] == 2
    pod = plain["Deployment", "release-qlio"]["spec"]["template"]
    assert pod["spec"]["terminationGracePeriodSeconds"] == 40 and "checksum/app" in pod["metadata"]["annotations"]
    arguments = " ".join(container(plain)["args"])
    assert "--drainDelay 5000 --grace 30000" in arguments and "--watch" not in arguments, arguments

    settings = json.loads(outside["ConfigMap", "release-qlio-settings"]["data"]["qlio.json"])
    assert settings["cache"]["options"]["options"] == {"cluster": True}, settings
    assert {"--watch", "0.0.0.0:9000"} <= set(container(outside)["args"])
    assert "annotations" not in outside["Deployment", "release-qlio"]["spec"]["template"]["metadata"]


if __name__ == "__main__":
    main()
